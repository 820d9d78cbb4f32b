"""From trees to a trained model: encode, decompose, learn automata, fit factors to them, learn relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.dependency.crossing import LiftedTrees, lift_trees
from spectragram.dependency.em import learn_deterministic, learn_em
from spectragram.dependency.encoding import Alphabet, Encoded
from spectragram.dependency.factors import Factors, learn_factors, usable_letters
from spectragram.dependency.features import ModifierSequences, modifier_sequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.labels import Labels, learn_labels
from spectragram.dependency.model import Member, Model, parse_all
from spectragram.dependency.settings import Settings
from spectragram.dependency.spectral import learn_spectral
from spectragram.engine import require_memory
from spectragram.engine.progress import Report, progress, silent

__all__ = ["Learned", "Training", "learn", "learn_grammar", "n_reports"]

LABEL_EPOCHS = 4
"""Passes over the trees for the weights of relations; 8 gain 0.1 LAS on the held-out parts of seven small treebanks."""
MIN_LIFTED = 5
"""Lifted words from which marks are learned; of fewer there is nothing to learn. Chosen by hand, not tuned."""


@dataclass(frozen=True)
class Learned:
    """A trained model, and how it came about.

    Attributes
    ----------
    model : Model
    trees : LiftedTrees
        The trees of training after lifting.
    iterations, epochs : lists of int
        Iterations of EM and epochs of the factors behind each member; 0 for learners without them.
    dev_uas : float or None
        Unlabelled attachment on held-out trees, in percent, if there were any.
    """

    model: Model
    trees: LiftedTrees
    iterations: list[int]
    epochs: list[int]
    dev_uas: float | None


@dataclass(frozen=True)
class Training:
    """What learners of automata read: sequences; how often each tag occurs, and its coarse tag, both (k,)."""

    sequences: ModifierSequences
    tag_counts: np.ndarray
    coarse_of: np.ndarray


@dataclass(frozen=True)
class HeldOut:
    """Held-out sentences and their heads, (n_tokens,), as a judge of members."""

    encoded: Encoded
    heads: np.ndarray
    fallback: Grammar
    n_jobs: int

    def uas(self, members: Sequence[Member]) -> float:
        """Percentage of words that get the right head."""
        charts = parse_all(members, self.fallback, self.encoded, self.n_jobs)
        return 100.0 * float(np.mean(np.concatenate([chart.best_heads() for chart, _ in charts]) == self.heads))


def learn(sentences: Sequence[Sentence], dev: Sequence[Sentence] | None, settings: Settings) -> Learned:
    """Learn from sentences with heads; if there are ``dev`` sentences, they decide when EM and the factors stop."""
    trees = lift_trees(sentences)
    heads = trees.heads
    settings = replace(settings, n_states=settings.states_for(len(heads)))
    alphabet = Alphabet.of(sentences, settings.tag_column)
    encoded = alphabet.encode(sentences)
    counts = np.bincount(encoded.tags, minlength=len(alphabet.tags)).astype(np.float64)
    sequences = modifier_sequences(encoded, heads, len(counts))
    training = Training(sequences, counts, alphabet.coarse_of)
    # Two automata for each tag, each with a matrix for each tag; EM holds the old ones, the new ones and the counts.
    n_bytes = 3 * 8.0 * 2 * (len(counts) * settings.n_states) ** 2
    require_memory(n_bytes, f"a grammar with {settings.n_states} states in every automaton", "use fewer states")
    fallback = learn_deterministic(sequences, counts, alphabet.coarse_of, first=True)
    held_out = None
    if dev is not None:
        gold = np.concatenate([sentence.heads for sentence in dev])
        held_out = HeldOut(alphabet.encode(dev), gold, fallback, settings.n_jobs)
    letters = usable_letters(alphabet, words=settings.words)
    # The seed of a member does not depend on the number of members.
    label_rng, *seeds = np.random.default_rng(settings.seed).spawn(settings.n_models + 1)
    members = [_learn_member(training, encoded, heads, letters, held_out, settings, rng) for rng in seeds]
    relations = [label for sentence in sentences for label in sentence.deprels]
    labels = _learn_labels("relations", relations, encoded, heads, len(counts), letters, settings, label_rng)
    crossings = None
    if settings.crossing and trees.n_words >= MIN_LIFTED:
        crossings = _learn_labels("crossings", trees.marks, encoded, heads, len(counts), letters, settings, label_rng)
    model = Model(alphabet, tuple(member for member, _, _ in members), fallback, labels, crossings, sequences)
    return Learned(
        model,
        trees,
        [iterations for _, iterations, _ in members],
        [epochs for _, _, epochs in members],
        None if held_out is None else held_out.uas(model.members),
    )


def _learn_member(
    training: Training,
    encoded: Encoded,
    heads: np.ndarray,
    letters: str,
    held_out: HeldOut | None,
    settings: Settings,
    rng: np.random.Generator,
) -> tuple[Member, int, int]:
    """A member, the iterations of EM and the epochs behind it."""
    with progress("automata", n_reports(training, settings), enabled=settings.verbose) as report:
        judge = None if held_out is None else lambda found: held_out.uas([Member(found, None)])
        grammar, iterations = learn_grammar(training, settings, rng=rng, judge=judge, report=report)
    if not settings.factors:
        return Member(grammar, None), iterations, 0
    with progress("factors", settings.n_epochs, enabled=settings.verbose) as report:
        factors, epochs = learn_factors(
            Factors.empty(letters, len(heads)),
            grammar,
            encoded,
            heads,
            n_epochs=settings.n_epochs,
            rng=rng,
            resample=settings.n_models > 1,
            judge=None if held_out is None else lambda found: held_out.uas([Member(grammar, found)]),
            n_jobs=settings.n_jobs,
            report=report,
        )
    return Member(grammar, factors), iterations, epochs


def n_reports(training: Training, settings: Settings) -> int:
    """How often :func:`learn_grammar` reports: once for each automaton, or iteration on all of them."""
    once = {"det": 1, "det+f": 1, "spectral": 2 * training.sequences.n_symbols}
    return once.get(settings.learner, settings.max_iter)


def learn_grammar(
    training: Training,
    settings: Settings,
    *,
    rng: np.random.Generator,
    judge: Callable[[Grammar], float] | None = None,
    report: Report = silent,
) -> tuple[Grammar, int]:
    """Head automata by ``settings.learner``, and the iterations of EM behind them (0 for learners without EM).

    A ``judge`` (score on held-out data, higher is better) chooses the number of iterations.
    """
    everything = training.sequences, training.tag_counts, training.coarse_of
    learner, n_states = settings.learner, settings.n_states
    if learner in ("det", "det+f"):
        grammar = learn_deterministic(*everything, first=learner == "det+f")
        report()
        return grammar, 0
    if learner == "spectral":
        deterministic = learn_deterministic(*everything, first=False)
        basis, min_mass = settings.basis, settings.min_mass
        grammar = learn_spectral(
            training.sequences, deterministic, n_states, basis=basis, min_mass=min_mass, report=report
        )
        return grammar, 0
    return learn_em(
        *everything,
        n_states,
        max_iter=settings.max_iter,
        spectral_start=learner == "spectral+em",
        rng=rng,
        judge=judge,
        n_jobs=settings.n_jobs,
        report=report,
    )


def _learn_labels(
    name: str,
    given: Sequence[str],
    encoded: Encoded,
    heads: np.ndarray,
    n_tags: int,
    letters: str,
    settings: Settings,
    rng: np.random.Generator,
) -> Labels:
    with progress(name, LABEL_EPOCHS, enabled=settings.verbose) as report:
        return learn_labels(
            given,
            encoded,
            heads,
            n_tags,
            letters,
            n_epochs=LABEL_EPOCHS,
            rng=rng,
            n_jobs=settings.n_jobs,
            report=report,
        )
