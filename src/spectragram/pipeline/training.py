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
from spectragram.errors import InputError
from spectragram.pipeline.jackknife import jackknife
from spectragram.pipeline.model import Model, with_tags
from spectragram.pipeline.morphology import Morphology, learn_morphology
from spectragram.pipeline.settings import Settings
from spectragram.pipeline.tag_holes import with_every_upos
from spectragram.pipeline.tokenizer import learn_tokenizer
from spectragram.word_paths import load_word_paths

__all__ = ["learn"]


def learn(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    settings: Settings,
    labelled: Sequence[Sentence] = (),
) -> Model:
    """Learn all parts; held-out trees (``dev``) choose when the training of the parser stops.

    All parts but the tokeniser also learn from ``labelled`` sentences, which a model has annotated.
    """
    paths = None if settings.clusters is None else load_word_paths(settings.clusters)
    sentences = with_every_upos(sentences, settings.seed)
    with progress("tokeniser", enabled=settings.verbose) as report:
        tokenizer = learn_tokenizer(sentences, seed=settings.seed, n_jobs=settings.n_jobs, report=report)
    with progress("tags and lemmas", enabled=settings.verbose) as report:
        morphology = learn_morphology(
            [*labelled, *sentences],
            settings.preset,
            paths=paths,
            random_state=settings.seed,
            n_jobs=settings.n_jobs,
            report=report,
        )
    return Model(tokenizer, morphology, _learn_parser(sentences, dev, morphology, settings, labelled))


def _learn_parser(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    morphology: Morphology,
    settings: Settings,
    labelled: Sequence[Sentence],
) -> DependencyParser | None:
    """A parser of tags as they are and as they will be predicted; None if no word has a head.

    The tags of ``labelled`` sentences are predicted ones already.
    """
    trees = _with_heads(sentences)
    if not trees:
        return None
    held_out = None if dev is None else _with_trees(dev)
    if morphology.columns and settings.n_folds > 1:
        with progress("jackknife", settings.n_folds, enabled=settings.verbose) as report:
            seed, n_jobs = settings.seed, settings.n_jobs
            trees += jackknife(
                trees, settings.n_folds, paths=morphology.paths, random_state=seed, n_jobs=n_jobs, report=report
            )
        if held_out is not None:
            held_out = morphology.annotate(held_out, n_jobs=settings.n_jobs)
    given: dict[str, Any] = {"n_states": settings.n_states, "n_models": settings.n_models}
    parser = DependencyParser(
        learner=settings.learner,
        clusters=settings.clusters,
        preset=settings.preset,
        random_state=settings.seed,
        n_jobs=settings.n_jobs,
        verbose=settings.verbose,
        **given,
    )
    trees = [*_with_heads(labelled), *trees]
    return parser.fit([with_tags(tree) for tree in trees], dev=held_out and [with_tags(tree) for tree in held_out])


def _with_heads(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences in which some word has a head."""
    return [sentence for sentence in sentences if (sentence.heads >= 0).any()]


def _with_trees(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences in which every word has a head, at least one; those heads must form trees."""
    trees = [sentence for sentence in sentences if (sentence.heads >= 0).all()]
    if not trees:
        raise InputError("held-out data without trees", remedy="give dev sentences in which every word has a head")
    for sentence in trees:
        sentence.check_tree()
    return trees
