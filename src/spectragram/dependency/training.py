"""From trees to a trained model: encode, decompose, learn automata, fit factors to them, learn relations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.dependency.encoding import Alphabet, Encoded, encode_trees
from spectragram.dependency.factors import Factors, Templates, learn_factors
from spectragram.dependency.features import modifier_sequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.labels import Labels, learn_labels
from spectragram.dependency.learners import Training, learn_grammar, n_steps
from spectragram.dependency.model import Member, Model
from spectragram.dependency.settings import Settings
from spectragram.engine import require_memory
from spectragram.engine.progress import progress

__all__ = ["train"]

LABEL_EPOCHS = 2
WEIGHTS_PER_TOKEN, MOST_BITS = 24, 22
"""Size of the tables of hashed weights."""


def train(sentences: Sequence[Sentence], settings: Settings) -> tuple[Model, int]:
    """Learn from sentences with heads; also how many trees had to be lifted to be projective."""
    heads, lifted = encode_trees(sentences)
    alphabet = Alphabet.of(sentences, settings.tag_column)
    encoded = alphabet.encode(sentences)
    counts = alphabet.tags.counts.astype(np.float64)
    sequences = modifier_sequences(encoded, heads, len(counts))
    training = Training(sequences, counts, alphabet.coarse_of)
    # Two automata for each tag, each with a matrix for each tag; EM holds the old ones, the new and the counts.
    n_bytes = 3 * 8.0 * 2 * (len(counts) * settings.n_states) ** 2
    require_memory(n_bytes, f"n_states={settings.n_states}", "use fewer states")
    # Seeds of members do not depend on how many there are.
    seeds = np.random.default_rng(settings.seed).spawn(settings.n_models + 1)
    fallback = _learn_automata("det+f", training, settings, seeds[0])
    members = []
    for rng in seeds[1:]:
        grammar = _learn_automata(settings.learner, training, settings, rng)
        members.append(Member(grammar, _learn_factors(grammar, encoded, heads, settings, rng)))
    labels = _learn_labels(sentences, alphabet, encoded, heads, settings, seeds[0])
    return Model(alphabet, tuple(members), fallback, labels, sequences), lifted


def _learn_automata(learner: str, training: Training, settings: Settings, rng: np.random.Generator) -> Grammar:
    total = n_steps(learner, training, settings.max_iter)
    with progress("automata", total, enabled=settings.verbose) as report:
        return learn_grammar(
            learner, training, settings.n_states, max_iter=settings.max_iter, basis=settings.basis,
            min_mass=settings.min_mass, rng=rng, n_jobs=settings.n_jobs, report=report,
        )  # fmt: skip


def _learn_factors(
    grammar: Grammar, encoded: Encoded, heads: np.ndarray, settings: Settings, rng: np.random.Generator
) -> Factors | None:
    if not settings.factors:
        return None
    empty = Factors.empty(words=settings.words, bits=_table_bits(len(heads)))
    with progress("factors", settings.n_epochs, enabled=settings.verbose) as report:
        return learn_factors(
            empty, grammar, encoded, heads, n_epochs=settings.n_epochs, rng=rng, resample=settings.n_models > 1,
            n_jobs=settings.n_jobs, report=report,
        )  # fmt: skip


def _learn_labels(
    sentences: Sequence[Sentence],
    alphabet: Alphabet,
    encoded: Encoded,
    heads: np.ndarray,
    settings: Settings,
    rng: np.random.Generator,
) -> Labels:
    templates = Templates.for_labels(words=settings.words)
    with progress("relations", LABEL_EPOCHS, enabled=settings.verbose) as report:
        return learn_labels(
            sentences, encoded, heads, templates, n_coarse=len(alphabet.coarse), n_symbols=len(alphabet.tags),
            n_epochs=LABEL_EPOCHS, bits=_table_bits(len(heads)), rng=rng, report=report,
        )  # fmt: skip


def _table_bits(n_tokens: int) -> int:
    """Weights to a table: the power of two above so many for each token, 14 to 22 bits."""
    return int(np.clip(np.ceil(np.log2(WEIGHTS_PER_TOKEN * n_tokens)), 14, MOST_BITS))
