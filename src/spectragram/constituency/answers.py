"""What a trained parser answers about one sentence: posteriors, a tree, and how sure it is of it.

Posteriors are those of the grammars, then those with the factors of brackets, averaged with those with the factors of
rules. The tree is decoded from them (``mbr``), or from the derivations of the first grammar (the other decoders).
"""

from __future__ import annotations

import math

import numpy as np

from spectragram.constituency.brackets import MBR_THRESHOLD, SpanPosteriors, bracket_tree
from spectragram.constituency.constraints import extended, imposed
from spectragram.constituency.derivations import best_derivation, tree_log_prob
from spectragram.constituency.long_sentences import LONGEST, parse_in_pieces
from spectragram.constituency.model import Model
from spectragram.constituency.parsing import Status, average_posteriors
from spectragram.constituency.rule_factors import THRESHOLD, blended
from spectragram.data.confidence import SpanConfidence
from spectragram.data.known_spans import SpanConstraints
from spectragram.data.trees import Tree
from spectragram.inference.chart_coarse import span_id
from spectragram.learning.temperature import tempered, tempered_odds

__all__ = ["confident_tree", "decode", "parse", "posteriors_of", "reported"]


def posteriors_of(model: Model, given: SpanConstraints) -> tuple[SpanPosteriors, Status, int]:
    """Posteriors of the grammars with the factors, how they were found, and how many were negative."""
    found = average_posteriors(model.grammars, given.words, given)
    posteriors = found.posteriors
    if model.factors is not None:
        posteriors = model.factors.apply(given.words, found.posteriors)
    if model.rule_factors is not None:
        posteriors = blended(posteriors, model.rule_factors.apply(given.words, found.posteriors, found.forests))
    return posteriors, found.status, found.n_negative


def reported(model: Model, posteriors: SpanPosteriors) -> SpanPosteriors:
    """The posteriors at the temperature of the model: of each bracket for itself, and of the tags of each word."""
    t = model.temperature
    return SpanPosteriors(tempered_odds(posteriors.spans, t), tempered(posteriors.tags, t))


def decode(model: Model, posteriors: SpanPosteriors, given: SpanConstraints) -> Tree:
    """The tree that the decoder ``mbr`` finds, with what is known in it whatever the posteriors say."""
    threshold = MBR_THRESHOLD if model.rule_factors is None else THRESHOLD
    if given.is_empty:
        return bracket_tree(given.words, posteriors, model.labels, threshold)
    labels = extended(model.labels, given)
    return bracket_tree(given.words, imposed(posteriors, given, labels), labels, threshold)


def parse(model: Model, given: SpanConstraints, decoder: str) -> tuple[Tree, Status, int]:
    """A tree, how it was found, and how many posteriors were negative."""
    if len(given.words) > LONGEST and given.is_empty:
        return parse_in_pieces(given.words, lambda piece: parse(model, piece, decoder), model.labels)
    if decoder != "mbr":
        tree, status, n_negative = best_derivation(
            model.grammars[0], given.words, decoder, given, absolute=model.absolute
        )
        if tree is not None:
            return tree, status, n_negative
    posteriors, status, n_negative = posteriors_of(model, given)
    return decode(model, posteriors, given), status, n_negative


def confident_tree(model: Model, given: SpanConstraints, decoder: str) -> tuple[SpanConfidence, Status, int]:
    """What :func:`parse` finds, with its probabilities."""
    posteriors, status, n_negative = posteriors_of(model, given)
    tree = decode(model, posteriors, given) if decoder == "mbr" else parse(model, given, decoder)[0]
    labels = extended(model.labels, given)
    rows = imposed(reported(model, posteriors), given, labels)
    spans = [
        (label, i, j, float(min(rows.spans[span_id(i, j), labels.phrase_index[label]], 1.0)))
        for label, i, j in tree.without_root().spans()
        if label in labels.phrase_index
    ]
    tags = rows.tags[np.arange(len(given.words)), [labels.tag_index[tag] for tag in tree.tags()]]
    whole = math.exp(tree_log_prob(model.grammars[0], tree, given))
    return SpanConfidence(tree, spans, tags, whole), status, n_negative
