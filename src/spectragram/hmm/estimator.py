"""The estimator: hidden Markov models of whole numbers or vectors, with the methods that hmmlearn has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spectragram.data.number_sequences import Lengths, Numbers, NumberSequences, as_number_sequences
from spectragram.engine import Executor, map_shards, working_on
from spectragram.engine.progress import progress
from spectragram.errors import InputError
from spectragram.estimator import RUN_TIME, Estimator, Predictions, fitting
from spectragram.hmm.emissions import Categorical, Gaussian
from spectragram.hmm.learners import learn
from spectragram.hmm.model import Model
from spectragram.hmm.settings import settings_of

__all__ = ["HMM"]

VALUES_PER_SHARD = 100_000
"""Observations that a thread or a worker answers at a time: tenths of a second of work. Chosen by hand."""


class HMM(Estimator):
    """A hidden Markov model of sequences of whole numbers (categorical) or of vectors (Gaussian).

    Observations come as in hmmlearn, one array and the ``lengths`` of the sequences, and answers come back as an array.
    Or they come as a list of sequences (or the path of a file), and answers come back as a list.

    Parameters
    ----------
    n_states : int, optional
        Number of hidden states. By default sizes are tried until the Bayesian information criterion stops falling.
    learner : {"spectral+em", "spectral", "em"}
        EM from clusters of places with similar pasts and futures; these clusters alone; EM from random starts.
    emissions : {"auto", "categorical", "gaussian"}
        ``auto`` goes by the type: whole numbers are symbols, others are measurements.
    covariance : {"diag", "full"}
        Whether the dimensions of a vector are independent in each state.
    n_symbols : int, optional
        Size of the alphabet, if it is larger than the training sequences show.
    prior : float
        Events that are added in each state, evenly to moves and by overall frequency to symbols, so that nothing is
        impossible; 0 gives maximum likelihood.
    tolerance : float
        EM stops if the log-likelihood of an observation gains less.
    max_iter : int, optional
        Most EM iterations; the preset chooses.
    preset : {"default", "fast", "best"}
        Starts and most iterations: 3 and 500, 1 and 20, 10 and 2000.
    random_state, n_jobs, executor, verbose
        Seed; number of threads (-1: all cores); a ``distributed.Client`` or anything with ``submit`` whose workers run
        E-steps and predict; progress on a terminal. Only the seed changes the model.

    Examples
    --------
    >>> model = HMM(2, prior=0.0).fit(np.array([0, 0, 1, 1] * 50))
    >>> model.predict(np.array([0, 0, 1, 1])).tolist() in ([0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    kind = "hmm"
    model_type = Model
    model_: Model

    def __init__(
        self,
        n_states: int | None = None,
        learner: str = "spectral+em",
        *,
        emissions: str = "auto",
        covariance: str = "diag",
        n_symbols: int | None = None,
        prior: float = 0.1,
        tolerance: float = 1e-6,
        max_iter: int | None = None,
        preset: str = "default",
        random_state: int = 0,
        n_jobs: int | None = -1,
        executor: Executor | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.emissions = emissions
        self.covariance = covariance
        self.n_symbols = n_symbols
        self.prior = prior
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.preset = preset
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose

    @classmethod
    def from_parameters(
        cls,
        startprob: ArrayLike,
        transmat: ArrayLike,
        *,
        emissionprob: ArrayLike | None = None,
        means: ArrayLike | None = None,
        covars: ArrayLike | None = None,
    ) -> Self:
        """A trained model with these parameters, named as in hmmlearn.

        ``emissionprob`` (m, k), or ``means`` (m, d) and ``covars`` of shape (m, d) or (m, d, d).
        """
        given = {"emissionprob": emissionprob, "means": means, "covariances": covars}
        arrays = {"start": np.array(startprob, np.float64), "moves": np.array(transmat, np.float64)}
        arrays |= {f"emissions.{name}": np.array(part, np.float64) for name, part in given.items() if part is not None}
        try:
            model = Model.from_state({}, arrays)
        except (KeyError, ValueError, np.linalg.LinAlgError) as trouble:
            remedy = "give emissionprob, or means and covars, for every state, and rows that sum to 1"
            raise InputError(f"these parameters do not make a model ({trouble})", remedy=remedy) from None
        covariance = "full" if isinstance(model.emissions, Gaussian) and model.emissions.full else "diag"
        made = cls(
            model.n_states,
            emissions="categorical" if isinstance(model.emissions, Categorical) else "gaussian",
            covariance=covariance,
        )
        made.model_ = model
        made.summary_ = {"learner": "parameters", "states": model.n_states, "sentences": 0, "tokens": 0}
        made.fitted_params_ = {k: v for k, v in made.get_params().items() if k not in RUN_TIME}
        return made

    @fitting
    def fit(self, X: Numbers, lengths: Lengths = None, *, dev: Numbers | None = None) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : array of shape (n,), (n, 1) or (n, d), list of sequences, or path
        lengths : array of shape (n_sequences,), optional
            Lengths of the sequences in the array X; without them it is one sequence.
        dev : list of sequences or path, optional
            Held-out sequences that stop EM and, without ``n_states``, choose the number of states.
        """
        settings = settings_of(self)
        data = as_number_sequences(X, lengths, settings.emissions)
        judges = None if dev is None else as_number_sequences(dev, None, "categorical" if data.discrete else "gaussian")
        with progress("hmm", enabled=self.verbose) as report:
            self.model_ = learn(data, settings, judges, report)
        self.summary_ = {
            "learner": settings.learner,
            "states": self.model_.n_states,
            "sentences": len(data),
            "tokens": len(data.values),
            "emissions": "categorical" if data.discrete else "gaussian",
            "log_likelihood": round(float(self.model_.log_probs(data).sum()), 6),
        }
        if data.discrete:
            self.summary_["types"] = int(self.emissionprob_.shape[1])
        return self

    def predict(self, X: Numbers, lengths: Lengths = None) -> Any:
        """The most probable states of each sequence (Viterbi): one array, (n,), or a list of them."""
        return self.decode(X, lengths)[1]

    def decode(self, X: Numbers, lengths: Lengths = None) -> tuple[float, Any]:
        """The joint log-probability of the most probable states of all sequences, and these states."""
        data = self._encoded(X, lengths)
        found = self._mapped(_best_paths, data)
        values = np.concatenate([part for _, part in found])
        return float(values.sum()), self._as_given(data, np.concatenate([paths for paths, _ in found]))

    def predict_proba(self, X: Numbers, lengths: Lengths = None) -> Any:
        """Probability of every state at every place given the whole sequence: one array, (n, m), or a list."""
        data = self._encoded(X, lengths)
        return self._as_given(data, np.concatenate(self._mapped(_posteriors, data)))

    def log_prob(self, X: Numbers, lengths: Lengths = None) -> np.ndarray:
        """Log-probability of each sequence (log-density, if Gaussian), shape (n_sequences,)."""
        return np.concatenate(self._mapped(_log_probs, self._encoded(X, lengths)))

    def score(self, X: Numbers, lengths: Lengths = None) -> float:
        """Log-probability of all sequences together."""
        return float(self.log_prob(X, lengths).sum())

    def score_samples(self, X: Numbers, lengths: Lengths = None) -> tuple[float, Any]:
        """:meth:`score` and :meth:`predict_proba`."""
        return self.score(X, lengths), self.predict_proba(X, lengths)

    def sample(self, n: int = 1, *, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Draw one sequence of ``n`` observations, (n,) or (n, d), and its states (n,)."""
        return self._trained.draw(n, np.random.default_rng(random_state))

    def evaluate(self, X: Numbers, lengths: Lengths = None) -> dict[str, Any]:
        """``log_likelihood`` of all sequences, ``per_observation``, and the numbers of ``sentences`` and ``tokens``."""
        data = self._encoded(X, lengths)
        total = float(np.concatenate(self._mapped(_log_probs, data)).sum())
        n = len(data.values)
        return {"log_likelihood": total, "per_observation": total / n, "sentences": len(data), "tokens": n}

    def aic(self, X: Numbers, lengths: Lengths = None) -> float:
        """Akaike's information criterion on these sequences; smaller is better."""
        return 2.0 * self._trained.n_parameters - 2.0 * self.score(X, lengths)

    def bic(self, X: Numbers, lengths: Lengths = None) -> float:
        """Bayesian information criterion on these sequences; smaller is better."""
        data = self._encoded(X, lengths)
        return self._trained.n_parameters * float(np.log(len(data.values))) - 2.0 * self.score(X, lengths)

    @property
    def startprob_(self) -> np.ndarray:
        """Initial probabilities, (m,)."""
        return self._trained.start

    @property
    def transmat_(self) -> np.ndarray:
        """Probability of the next state given this one, (m, m)."""
        return self._trained.moves

    @property
    def emissionprob_(self) -> np.ndarray:
        """Probability of every symbol in each state, (m, k); categorical models only."""
        if not isinstance(self._trained.emissions, Categorical):
            raise AttributeError("a Gaussian model has means_ and covars_, but no emissionprob_")
        return self._trained.emissions.table

    @property
    def means_(self) -> np.ndarray:
        """Mean vector of each state, (m, d); Gaussian models only."""
        return self._gaussian.means

    @property
    def covars_(self) -> np.ndarray:
        """Covariance matrix of each state, (m, d, d); Gaussian models only."""
        found = self._gaussian.covariances
        return found if self._gaussian.full else found[:, :, None] * np.eye(found.shape[1])

    @property
    def _gaussian(self) -> Gaussian:
        if not isinstance(self._trained.emissions, Gaussian):
            raise AttributeError("a categorical model has emissionprob_, but neither means_ nor covars_")
        return self._trained.emissions

    @property
    def _trained(self) -> Model:
        self._require_fitted()
        return self.model_

    def _encoded(self, X: Numbers, lengths: Lengths) -> NumberSequences:
        emissions = "categorical" if isinstance(self._trained.emissions, Categorical) else "gaussian"
        data = as_number_sequences(X, lengths, emissions)
        self._trained.emissions.check(data.values)
        return data

    def _mapped(self, function: Callable[[NumberSequences, Model], Any], data: NumberSequences) -> list[Any]:
        """What a function makes of each part of the sequences, in order."""
        with working_on(self.executor):
            return map_shards(function, data.parts(VALUES_PER_SHARD), self._trained, n_jobs=self.n_jobs)

    @staticmethod
    def _as_given(data: NumberSequences, answers: np.ndarray) -> Any:
        return answers if data.one_array else Predictions(data.split(answers))


def _best_paths(data: NumberSequences, model: Model) -> tuple[np.ndarray, np.ndarray]:
    return model.best_paths(data)


def _posteriors(data: NumberSequences, model: Model) -> np.ndarray:
    return model.posteriors(data)


def _log_probs(data: NumberSequences, model: Model) -> np.ndarray:
    return model.log_probs(data)
