"""From trees to a trained model: encode, decompose, learn automata, fit factors to them, learn relations."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.dependency.calibration import USUAL, held_out_temperature
from spectragram.dependency.constraints import ArcMask
from spectragram.dependency.crossing import LiftedTrees, lift_trees
from spectragram.dependency.em import learn_deterministic, learn_em
from spectragram.dependency.encoding import Alphabet, Encoded
from spectragram.dependency.factor_training import learn_factors
from spectragram.dependency.factors import Factors, usable_letters
from spectragram.dependency.features import ModifierSequences, modifier_sequences
from spectragram.dependency.gates import FEWEST_WORDS, learn_gates
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.labels import MISSING, Labels, learn_labels
from spectragram.dependency.members import Member
from spectragram.dependency.model import Model
from spectragram.dependency.partial import complete_trees, is_complete
from spectragram.dependency.settings import Settings
from spectragram.dependency.spectral import Decomposition, learn_spectral
from spectragram.engine import current_executor, require_memory
from spectragram.engine.progress import Report, progress, silent
from spectragram.learning.ensembles import train_members

__all__ = ["Learned", "Training", "learn", "learn_grammar", "n_reports"]

LABEL_EPOCHS = 4
"""Passes over the trees for the weights of relations; 8 gain 0.1 LAS on the held-out parts of seven small treebanks."""
EPOCHS_OF_HOLES, LABEL_EPOCHS_OF_HOLES = 3, 2
"""Where heads are missing, the final factors, and the weights of relations, see the trees so many times as often. With
half of the heads removed, twice, this and completed relations lose 2.1 LAS on the dev part of Tamil-TTB instead of 2.5;
on that of Afrikaans-AfriBooms 2.5 as before."""
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
    dev_scores : dict from str to float
        ``uas``, and ``las`` where relations were learned, on held-out trees, in percent; empty if there were none.
    """

    model: Model
    trees: LiftedTrees
    iterations: list[int]
    epochs: list[int]
    dev_scores: dict[str, float]


@dataclass(frozen=True)
class Training:
    """What learners of automata read: sequences; how often each tag occurs, and its coarse tag, both (k,)."""

    sequences: ModifierSequences
    tag_counts: np.ndarray
    coarse_of: np.ndarray


@dataclass(frozen=True)
class HeldOut:
    """Held-out sentences as a judge of members.

    Attributes
    ----------
    parts : dict
        The attributes of a model other than its members.
    encoded : Encoded
    heads : int array, shape (n_tokens,)
    relations : list of str, or None
        None where there are none to learn or to compare with.
    n_jobs : int
    """

    parts: dict[str, Any]
    encoded: Encoded
    heads: np.ndarray
    relations: list[str] | None
    n_jobs: int

    def scores(self, *members: Member) -> dict[str, float]:
        """Percentage of words that get the right head (``uas``), and of those also the right relation (``las``)."""
        parses = Model(members=members, **self.parts).trees(self.encoded, self.n_jobs)
        right = np.concatenate([parse.heads for parse in parses]) == self.heads
        found = {"uas": 100.0 * float(right.mean())}
        if self.relations is not None:
            relations = [relation for parse in parses for relation in parse.relations]
            same = np.array([a == b for a, b in zip(relations, self.relations, strict=True)])
            found["las"] = 100.0 * float((right & same).mean())
        return found

    def judge(self, *members: Member) -> float:
        """What decides: the labelled score where there is one."""
        scores = self.scores(*members)
        return scores.get("las", scores["uas"])


def learn(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    settings: Settings,
    weights: np.ndarray | None = None,
) -> Learned:
    """Learn from sentences with heads; if there are ``dev`` sentences, they decide when EM and the factors stop.

    Where only some heads of a sentence are known, what is open is summed over or completed, see
    :mod:`spectragram.dependency.partial`. ``weights`` (n_sentences,) say how much each sentence counts for the factors.
    """
    if all(map(is_complete, sentences)):
        return _learn_trees(sentences, [None] * len(sentences), dev, settings, weights)
    quick = replace(settings, n_models=1, verbose=False)
    label_epochs = LABEL_EPOCHS_OF_HOLES * LABEL_EPOCHS

    def learn_round(trees: Sequence[Sentence], masks: Sequence[ArcMask | None]) -> Model:
        return _learn_trees(trees, masks, None, quick, label_epochs=label_epochs).model

    trees, masks = complete_trees(sentences, learn_round, settings.n_jobs)
    longer = replace(settings, n_epochs=EPOCHS_OF_HOLES * settings.n_epochs)
    return _learn_trees(trees, masks, dev, longer, weights, label_epochs)


def _learn_trees(
    sentences: Sequence[Sentence],
    masks: Sequence[ArcMask | None],
    dev: Sequence[Sentence] | None,
    settings: Settings,
    weights: np.ndarray | None = None,
    label_epochs: int = LABEL_EPOCHS,
) -> Learned:
    """Learn from trees; ``masks`` say what is known about those that have been completed, None about the others."""
    trees = lift_trees(sentences)
    heads = trees.heads
    settings = replace(settings, n_states=settings.states_for(len(heads)))
    alphabet = Alphabet.of(sentences, settings.tag_column, settings.paths)
    if not settings.words:
        alphabet = replace(alphabet, surface=alphabet.surface.without_words())
    encoded = alphabet.encode(sentences)
    counts = np.bincount(encoded.tags, minlength=len(alphabet.tags)).astype(np.float64)
    sequences = modifier_sequences(encoded, heads, len(counts))
    training = Training(sequences, counts, alphabet.coarse_of)
    # Two automata for each tag, each with a matrix for each tag; EM holds the old ones, the new ones and the counts.
    n_bytes = 3 * 8.0 * 2 * (len(counts) * settings.n_states) ** 2
    require_memory(n_bytes, f"a grammar with {settings.n_states} states in every automaton", "use fewer states")
    fallback = None
    if settings.fallback:
        fallback = learn_deterministic(sequences, counts, alphabet.coarse_of, first=True)
    letters = usable_letters(alphabet, words=settings.words)
    # The seed of a member does not depend on the number of members.
    label_rng, *seeds = np.random.default_rng(settings.seed).spawn(settings.n_models + 1)
    relations = [label for sentence in sentences for label in sentence.deprels]

    def learn_names(what: str, given: Sequence[str]) -> Labels:
        with progress(what, label_epochs, enabled=settings.verbose) as report:
            given_to = given, encoded, heads, len(counts), letters
            return learn_labels(*given_to, n_epochs=label_epochs, rng=label_rng, n_jobs=settings.n_jobs, report=report)

    labels = learn_names("relations", relations)
    crossings = None
    if settings.crossing and trees.n_words >= MIN_LIFTED:
        crossings = learn_names("crossings", trees.marks)
    parts: dict[str, Any] = {"alphabet": alphabet, "fallback": fallback, "labels": labels, "crossings": crossings}
    parts |= {"sequences": sequences}
    held_out = None
    if dev is not None:
        gold = np.concatenate([sentence.heads for sentence in dev])
        names = [label for sentence in dev for label in sentence.deprels]
        has_relations = len(labels.names) > 1 and any(name != MISSING for name in names)
        held_out = HeldOut(parts, alphabet.encode(dev), gold, names if has_relations else None, settings.n_jobs)
    # Bars of several members at once would overwrite one another, so members elsewhere have one for all of them.
    apart = current_executor() is not None and settings.n_models > 1
    quiet = replace(settings, verbose=settings.verbose and not apart)
    gates = None
    if settings.factors and len(heads) >= FEWEST_WORDS:
        gates = learn_gates(encoded, heads, np.random.default_rng(settings.seed), settings.n_jobs)
    empty = Factors.empty(letters, len(heads), gates)
    learn = _Learn(training, encoded, heads, masks, weights, empty, held_out, quiet, seeds)
    with progress("members", settings.n_models, enabled=settings.verbose and apart) as report:
        learned = train_members(learn, settings.n_models, settings.n_jobs, report, side_by_side=False)
    members = tuple(member for member, _, _ in learned)
    model = Model(members=members, **parts)
    if settings.factors:
        temperature = USUAL if dev is None else held_out_temperature(model, dev, settings.n_jobs)
        model = replace(model, temperature=temperature)
    return Learned(
        model,
        trees,
        [iterations for _, iterations, _ in learned],
        [epochs for _, _, epochs in learned],
        {} if held_out is None else held_out.scores(*members),
    )


@dataclass(frozen=True)
class _Learn:
    """What it takes to train any member, here or on a worker."""

    training: Training
    encoded: Encoded
    heads: np.ndarray
    masks: Sequence[ArcMask | None]
    weights: np.ndarray | None
    empty: Factors
    held_out: HeldOut | None
    settings: Settings
    seeds: list[np.random.Generator]

    def __call__(self, number: int, n_jobs: int, report: Report) -> tuple[Member, int, int]:
        """A member, the iterations of EM and the epochs behind it."""
        held_out = None if self.held_out is None else replace(self.held_out, n_jobs=n_jobs)
        # A member that is sent again after a loss must draw the same numbers.
        rng = copy.deepcopy(self.seeds[number])
        settings = replace(self.settings, n_jobs=n_jobs)
        learned = _learn_member(
            self.training, self.encoded, self.heads, self.masks, self.weights, self.empty, held_out, settings, rng
        )
        report()
        return learned


def _learn_member(
    training: Training,
    encoded: Encoded,
    heads: np.ndarray,
    masks: Sequence[ArcMask | None],
    weights: np.ndarray | None,
    empty: Factors,
    held_out: HeldOut | None,
    settings: Settings,
    rng: np.random.Generator,
) -> tuple[Member, int, int]:
    """See :class:`_Learn`."""
    with progress("automata", n_reports(training, settings), enabled=settings.verbose) as report:
        judge = None if held_out is None else lambda found: held_out.judge(Member(found, None))
        grammar, iterations = learn_grammar(training, settings, rng=rng, judge=judge, report=report)
    if not settings.factors:
        return Member(grammar, None), iterations, 0
    with progress("factors", settings.n_epochs, enabled=settings.verbose) as report:
        factors, epochs = learn_factors(
            empty,
            grammar,
            encoded,
            heads,
            masks,
            n_epochs=settings.n_epochs,
            rng=rng,
            weights_of=weights,
            resample=settings.n_models > 1,
            judge=None if held_out is None else lambda found: held_out.judge(Member(grammar, found)),
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
    counting: dict[str, Any] = {"shrinkage": settings.shrinkage, "root_prior": settings.root_prior}
    if learner in ("det", "det+f"):
        grammar = learn_deterministic(*everything, first=learner == "det+f", **counting)
        report()
        return grammar, 0
    if learner == "spectral":
        deterministic = learn_deterministic(*everything, first=False, **counting)
        grammar = learn_spectral(
            training.sequences,
            deterministic,
            n_states,
            _decomposition(settings),
            det_sequences=settings.det_sequences,
            report=report,
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
        **counting,
    )


def _decomposition(settings: Settings) -> Decomposition:
    return Decomposition(
        basis=settings.basis,
        empty_on_top=settings.empty_on_top,
        statistic=settings.statistic,
        max_length=settings.max_length,
        scaled=settings.scaling != "none",
        kappa=settings.kappa,
        smallest=settings.smallest,
        min_mass=settings.min_mass,
    )
