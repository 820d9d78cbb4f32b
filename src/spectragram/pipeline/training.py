"""From a treebank to a trained pipeline, part by part.

    sentences -> tokeniser
              -> morphology
              -> the same sentences as morphology that has not seen them annotates them (jackknifing)
              -> parser, from the trees of both

The parser is trained on predicted tags, because predicted tags are what it will see, and on the right ones, because
there are never enough trees. On the dev parts of seven small treebanks, means of two seeds, LAS from the right words is
64.6 with right tags alone, 65.1 with predicted ones and 65.4 with both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spectragram.data.conllu import Sentence
from spectragram.dependency import DependencyParser
from spectragram.engine.progress import progress
from spectragram.pipeline.jackknife import jackknife
from spectragram.pipeline.model import Model, with_tags
from spectragram.pipeline.morphology import Morphology, learn_morphology
from spectragram.pipeline.settings import Settings
from spectragram.pipeline.tokenizer import learn_tokenizer

__all__ = ["learn"]


def learn(sentences: Sequence[Sentence], dev: Sequence[Sentence] | None, settings: Settings) -> Model:
    """Learn all parts; held-out trees (``dev``) choose when the training of the parser stops."""
    with progress("tokeniser", enabled=settings.verbose) as report:
        tokenizer = learn_tokenizer(sentences, seed=settings.seed, n_jobs=settings.n_jobs, report=report)
    with progress("tags and lemmas", enabled=settings.verbose) as report:
        morphology = learn_morphology(
            sentences, settings.preset, random_state=settings.seed, n_jobs=settings.n_jobs, report=report
        )
    return Model(tokenizer, morphology, _learn_parser(sentences, dev, morphology, settings))


def _learn_parser(
    sentences: Sequence[Sentence], dev: Sequence[Sentence] | None, morphology: Morphology, settings: Settings
) -> DependencyParser | None:
    """A parser of tags as they are and as they will be predicted; None if no sentence has a head for every word."""
    trees = _with_trees(sentences)
    if not trees:
        return None
    held_out = None if dev is None else _with_trees(dev) or None
    if morphology.columns and settings.n_folds > 1:
        with progress("jackknife", settings.n_folds, enabled=settings.verbose) as report:
            seed, n_jobs = settings.seed, settings.n_jobs
            trees += jackknife(trees, settings.n_folds, random_state=seed, n_jobs=n_jobs, report=report)
        if held_out is not None:
            held_out = morphology.annotate(held_out, n_jobs=settings.n_jobs)
    given: dict[str, Any] = {"n_states": settings.n_states, "n_models": settings.n_models}
    parser = DependencyParser(
        learner=settings.learner,
        preset=settings.preset,
        random_state=settings.seed,
        n_jobs=settings.n_jobs,
        verbose=settings.verbose,
        **given,
    )
    return parser.fit([with_tags(tree) for tree in trees], dev=held_out and [with_tags(tree) for tree in held_out])


def _with_trees(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences in which every word has a head; those heads must form trees."""
    trees = [sentence for sentence in sentences if (sentence.heads >= 0).all()]
    for sentence in trees:
        sentence.check_tree()
    return trees
