"""``spectragram rank``: what to annotate next."""

from __future__ import annotations

import json as json_format
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectragram.cli import options as given

if TYPE_CHECKING:
    from spectragram.annotation import Ranked


def rank(
    model: given.Model,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the model predicts from; - is standard input.")],
    by: Annotated[str, typer.Option("--by", help="uncertainty or representative.")] = "uncertainty",
    unit: Annotated[
        str, typer.Option("--unit", help="sentence, or token: single heads, labels or brackets.")
    ] = "sentence",
    top: Annotated[int, typer.Option("--top", min=1, help="How many to write at most.")] = 20,
    out: given.OutText = None,
    json: given.Json = False,
    jobs: given.Jobs = -1,
) -> None:
    """Order sentences, or single decisions, by how much annotating them would teach, and mark what is doubtful.

    One line each: rank, number of the sentence, score, and its words with doubtful decisions in brackets, like
    [saw 3 obj? 0.52]: the word, what the model would choose, and its probability. Heads that CoNLL-U has already count
    as known. Works for dependency, pipeline, tagger and constituency.
    """
    from spectragram.annotation import rank as rank_sentences
    from spectragram.files import output
    from spectragram.kinds import load

    estimator: Any = load(model)
    estimator.set_params(n_jobs=jobs)
    found = rank_sentences(estimator, text, by=by, unit=unit)[:top]
    with output(out) as stream:
        for place, one in enumerate(found, 1):
            if json:
                stream.write(json_format.dumps(_as_json(place, one), ensure_ascii=False) + "\n")
            else:
                stream.write(f"{place}\t{one.sentence + 1}\t{one.score:.4f}\t{_marked(one)}\n")


def _as_json(place: int, one: Ranked) -> dict[str, Any]:
    doubtful = [
        {"place": d.place, "choice": d.choice, "probability": round(d.probability, 4), "alternative": d.alternative}
        for d in one.doubtful
    ]
    found = {"rank": place, "sentence": one.sentence + 1, "place": one.place, "score": round(one.score, 4)}
    return found | {"words": one.words, "doubtful": doubtful}


def _marked(one: Ranked) -> str:
    """The words, with doubtful decisions in brackets: at their word, or around their span."""
    before: list[list[str]] = [[] for _ in range(len(one.words) + 1)]
    after: list[list[str]] = [[] for _ in range(len(one.words) + 1)]
    for doubt in sorted(one.doubtful, key=lambda doubt: (not isinstance(doubt.place, tuple), str(doubt.place))):
        start, end = doubt.place if isinstance(doubt.place, tuple) else (doubt.place - 1, doubt.place)
        before[start].insert(0, "[")
        after[end - 1].append(f" {doubt.choice}? {doubt.probability:.2f}]")
    return " ".join("".join(before[i]) + word + "".join(after[i]) for i, word in enumerate(one.words))
