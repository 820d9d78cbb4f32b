"""Annotating: a file, the model that infers what is open in it, what to look at next, and training again."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import spectragram
from spectragram.errors import InputError, SpectragramError
from spectragram.serve.annotations import AnnotationFile, Change
from spectragram.serve.inferring import infer
from spectragram.serve.lessons import FITTING, Plan, model_kind
from spectragram.serve.records import Record, Step
from spectragram.serve.shelf import Shelf
from spectragram.serve.tagsets import USUAL
from spectragram.serve.training import Training

__all__ = ["Workbench", "tag_column_for"]

N_RANKED = 400
"""Open sentences that are ranked at once. Chosen by hand: ranking them takes seconds, and nobody annotates as many
before the next training."""
MAX_LISTED = 200
"""Sentences of a list that are sent at once."""
PREVIEW = 90
"""Characters of a sentence in a list."""


class Workbench:
    """Everything that the page does with the annotation file; methods may be called from several threads."""

    def __init__(self, file: AnnotationFile, shelf: Shelf, plan: Plan) -> None:
        self.file = file
        self.shelf = shelf
        self.plan = plan
        self.training = Training(self._take_over)
        served = shelf.find(*FITTING[file.kind])
        self.model: str | None = None if served is None else served[0]
        self.generation = 0
        self.ranking = False
        self._ranked: list[int] = []
        self.rank()

    # What there is

    def described(self) -> dict[str, Any]:
        """The file as a whole."""
        records = self.file.snapshot()
        return {
            "name": self.file.path.name,
            "kind": self.file.kind,
            "n": len(records),
            "order": self._order(),
            "statuses": list(self.file.statuses),
            "labels": self._labels(records),
            "ranked": bool(self._ranked),
        } | self.moment()

    def moment(self) -> dict[str, Any]:
        """What may change with every step."""
        return {
            "model": self.model,
            "generation": self.generation,
            "can_undo": self.file.can_undo,
            "can_redo": self.file.can_redo,
            "ranking": self.ranking,
            "training": self.training.state,
        }

    def _order(self) -> list[int]:
        """Sentences that are not finished first: the most instructive, then the others as they stand in the file."""
        statuses = self.file.statuses
        first = [number for number in self._ranked if statuses[number] != "done"]
        chosen = set(first)
        rest = [number for number in range(len(statuses)) if number not in chosen]
        return first + sorted(rest, key=lambda number: statuses[number] == "done")

    def _labels(self, records: list[Record]) -> dict[str, list[str]]:
        """Labels to choose from: those of the file, most frequent first, of the model, and usual ones."""
        counts: dict[str, Counter[str]] = {name: Counter() for name in ("tags", "relations", "spans")}
        for record in records:
            known = record.known()
            counts["tags"].update(tag for tag in known["tags"] if tag)
            counts["relations"].update(relation for relation in known.get("relations", ()) if relation)
            counts["spans"].update(span[2] for span in known.get("spans", ()) if span[2])
        usual = USUAL[self.file.kind]
        of_model = self._labels_of_model()
        found = {}
        for name, own in counts.items():
            frequent = [label for label, _ in own.most_common()]
            own_labels = [*frequent, *of_model.get(name, ())]
            # Labels of tokens can be anything: parts of speech are offered while there are no others.
            more = () if self.file.kind == "tags" and own_labels else usual.get(name, ())
            found[name] = list(dict.fromkeys([*own_labels, *more]))
        return found

    def _labels_of_model(self) -> dict[str, list[str]]:
        if self.model is None:
            return {}
        model = self.shelf.get(self.model)
        if model.kind == "pipeline":
            parser = model.model_.parser
            return {} if parser is None else {"relations": list(parser.labels_)}
        if model.kind == "dependency":
            return {"relations": list(model.labels_), "tags": list(model.tags_[1:])}
        if model.kind == "constituency":
            return {"spans": list(model.labels_), "tags": list(model.tags_)}
        return {"tags": list(model.labels_)}

    def listed(self, start: int, n: int) -> list[dict[str, Any]]:
        """A part of the list of sentences, in their order."""
        records, statuses = self.file.records, self.file.statuses
        chosen = self._order()[max(start, 0) : max(start, 0) + min(max(n, 0), MAX_LISTED)]
        return [{"number": i, "text": " ".join(records[i].words)[:PREVIEW], "status": statuses[i]} for i in chosen]

    # One sentence

    def sentence(self, number: int) -> dict[str, Any]:
        """A sentence with what is known and what is inferred."""
        record = self.file.require(number)
        version = self.file.versions[number]
        picture = infer(record, self.shelf, self.model)
        return {"number": number, "version": version, "picture": picture} | self.moment()

    def step(self, number: int, step: Step, version: int | None) -> dict[str, Any]:
        """Make a step and infer the rest again; when this returns the step is in the file."""
        self.file.step(number, step, version)
        return self.sentence(number)

    def undo(self) -> dict[str, Any]:
        """Take back the last step, whichever sentence it was in."""
        return self._shown(self.file.undo(), "undo")

    def redo(self) -> dict[str, Any]:
        """Make the step again that was undone last."""
        return self._shown(self.file.redo(), "make again")

    def _shown(self, change: Change | None, what: str) -> dict[str, Any]:
        if change is None:
            raise InputError(f"there is no step to {what}", remedy="annotate something first")
        return self.sentence(change.number)

    # Training and ranking

    def train(self) -> dict[str, Any]:
        """Begin to train on what is annotated."""
        served = None if self.model is None else self.shelf.get(self.model)
        kind = model_kind(self.file.kind, None if served is None else served.kind)
        columns = served.layout_.columns if served is not None and kind == "tagger" else (0,)
        self.training.start(replace(self.plan, kind=kind, columns=columns))
        return self.training.state

    def cancel(self) -> dict[str, Any]:
        """Stop the training that is running, if any."""
        self.training.cancel()
        return self.training.state

    def _take_over(self, path: Path) -> str:
        """Serve the model that was trained; called by the thread that follows the training."""
        model: Any = spectragram.load(path)
        self.shelf.put(path.stem, model)
        self.model = path.stem
        self.generation += 1
        self.rank()
        learned = f"{model.summary_['sentences']} sentences"
        return f"trained on {learned}; {path.name} infers from now on"

    def rank(self) -> None:
        """Order open sentences by how much annotating them would teach, in the background."""
        if self.model is None or not len(self.file):
            return
        self.ranking = True
        threading.Thread(target=self._rank, args=(self.generation,), daemon=True).start()

    def _rank(self, generation: int) -> None:
        from spectragram.serve.ranking import ranked

        records = self.file.snapshot()
        numbers = [number for number, record in enumerate(records) if record.status != "done"][:N_RANKED]
        order: list[int] = []
        try:
            assert self.model is not None
            order = ranked([records[number] for number in numbers], self.shelf, self.model)
        except SpectragramError:
            pass  # the order of the file will do; inference says what is wrong
        finally:
            if generation == self.generation:
                self._ranked = [numbers[place] for place in order]
                self.ranking = False


def tag_column_for(shelf: Shelf) -> str | None:
    """The column of tags that the served parser reads; None if there is no parser, or a pipeline, which reads UPOS."""
    found = shelf.find("pipeline", "dependency")
    if found is None or found[1].kind == "pipeline":
        return None
    column: str = found[1].model_.alphabet.column
    return column
