"""The kinds of model, by the name used on the command line and in model files."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from spectragram.errors import InputError, ModelFileError

if TYPE_CHECKING:
    from spectragram.estimator import Estimator
    from spectragram.files import Source

__all__ = ["KINDS", "Kind", "kind_named", "load"]


@dataclass(frozen=True)
class Kind:
    """One kind of model: where its estimator lives and what it is for, in a line."""

    name: str
    module: str
    estimator: str
    task: str

    def estimator_class(self) -> type[Estimator]:
        """The estimator, imported now."""
        return getattr(import_module(self.module), self.estimator)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("automaton", "spectragram.automata", "Automaton", "probability distributions over strings"),
        Kind("hmm", "spectragram.hmm", "HMM", "hidden Markov models of whole numbers or vectors"),
        Kind("tagger", "spectragram.tagging", "Tagger", "labels for every token of a sequence"),
        Kind("constituency", "spectragram.constituency", "ConstituencyParser", "phrase-structure trees"),
        Kind("dependency", "spectragram.dependency", "DependencyParser", "heads and relations"),
        Kind("clusters", "spectragram.clusters", "WordClusters", "word clusters and vectors from raw text"),
        Kind("lm", "spectragram.lm", "LanguageModel", "language models and surprisal"),
        Kind("pipeline", "spectragram.pipeline", "Pipeline", "sentences, words, lemmas, tags and trees of raw text"),
    )
}


def kind_named(name: str) -> Kind:
    """Look a kind up; say what there is when it is unknown."""
    if name not in KINDS:
        raise InputError(f"no model kind '{name}'", remedy=f"choose one of {', '.join(KINDS)}")
    return KINDS[name]


def load(path: Source) -> Estimator:
    """Load a trained model of any kind; the file knows which."""
    from spectragram import storage

    stored = storage.read(path)
    try:
        estimator = kind_named(stored.kind).estimator_class()
    except InputError as trouble:
        raise ModelFileError(trouble.problem, path=path, remedy=trouble.remedy) from None
    return estimator._from_stored(stored, path)
