"""Predictions by shards: records are cut into parts, workers answer them, and answers come back in order.

A method of an estimator that answers record by record is decorated with :func:`by_shards`. Without an executor nothing
changes. With one, the records are read here, in one place, so that errors name files and lines as ever. They are sent
in parts of ``records_per_shard``; each worker receives the model once and keeps it.

The length of a part belongs to the kind of model and not to the cluster, so answers are the same for any number of
workers. A record's answer does not depend on the records around it, so they are those of one process, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from spectragram.engine.cluster import current_executor
from spectragram.engine.processes import in_order
from spectragram.engine.workers import Borrowed, Executor, Kept

__all__ = ["Read", "answers_of", "by_shards", "in_parts"]

Method = TypeVar("Method", bound=Callable[..., Any])

_SENT: WeakKeyDictionary[Executor, tuple[Any, Kept]] = WeakKeyDictionary()
"""The model that an executor worked with last, so that many small predictions send it once."""


class Read(list[Any]):
    """Records that were read and checked already, as a worker gets them."""


@dataclass(frozen=True)
class _Part:
    """Some records, and what is asked about them."""

    method: str
    records: Any
    args: tuple[Any, ...]
    options: dict[str, Any]
    title: str


def by_shards(read: Callable[..., Any], beside: str | None = None) -> Callable[[Method], Method]:
    """Decorate ``method(self, X, *args, **options)``, which answers X record by record.

    ``read(self, X, **options)`` gives the records: something with a length that can be sliced, and whose slices the
    method takes as X. ``beside`` names an option that has an entry for each record. The answers are Predictions, a
    list, or an array with a row for each record.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def sharded(self: Any, X: Any, *args: Any, **options: Any) -> Any:
            if current_executor(self.executor) is None:
                return method(self, X, *args, **options)
            self._require_fitted()
            records = read(self, X, **options)
            if options.get(beside or "") is not None:
                options[str(beside)] = list(options[str(beside)])
            if len(records) <= self.records_per_shard:
                return method(self, records, *args, **options)
            parts = _parts(method.__name__, records, self.records_per_shard, args, options, beside)
            return _joined(list(answers_of(self, _answer, parts)))

        return sharded  # type: ignore[return-value]

    return decorate


def in_parts(records: Iterable[Any], size: int) -> Iterator[Read]:
    """Records one after the other, ``size`` at a time.

    >>> list(in_parts("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(records)
    while part := Read(islice(rest, size)):
        yield part


def answers_of(estimator: Any, function: Callable[..., Any], parts: Iterable[Any]) -> Iterator[Any]:
    """``function(part, estimator)`` for each part, in order: by the executor's workers, or here if there is none.

    Parts may come from a generator, which is read a little ahead of the work.
    """
    executor = current_executor(estimator.executor)
    if executor is None:
        return (function(part, estimator) for part in parts)
    workers = Borrowed(executor)
    return in_order(function, parts, workers, _kept(estimator, executor, workers))


def _kept(estimator: Any, executor: Any, workers: Borrowed) -> Kept:
    """The estimator as workers have it: one thread, no executor of its own."""
    model, kept = _SENT.get(executor, (None, None)) if _can_be_key(executor) else (None, None)
    if kept is None or model is not estimator.model_:
        alone = copy.copy(estimator).set_params(executor=None, n_jobs=1, verbose=False)
        kept = workers.keep(alone)
        if _can_be_key(executor):
            _SENT[executor] = (estimator.model_, kept)
    return kept


def _can_be_key(executor: Any) -> bool:
    return hasattr(executor, "__weakref__") and executor.__hash__ is not None


def _parts(
    method: str, records: Any, size: int, args: tuple[Any, ...], options: dict[str, Any], beside: str | None
) -> Iterator[_Part]:
    for start in range(0, len(records), size):
        chosen = slice(start, start + size)
        own = dict(options)
        if own.get(beside or "") is not None:
            own[str(beside)] = own[str(beside)][chosen]
        part = records[chosen]
        title = f"records {start + 1} to {min(start + size, len(records))}"
        yield _Part(method, Read(part) if isinstance(part, list) else part, args, own, title)


def _answer(part: _Part, estimator: Any) -> Any:
    return getattr(estimator, part.method)(part.records, *part.args, **part.options)


def _joined(answers: Sequence[Any]) -> Any:
    """One answer from those of consecutive parts."""
    kind = type(answers[0])
    if hasattr(kind, "dtype"):
        import numpy as np

        return np.concatenate(answers)
    joined = [answer for part in answers for answer in part]
    if not hasattr(answers[0], "diagnostics"):
        return joined
    counted: dict[str, int] = {}
    for part in answers:
        for name, n in part.diagnostics.items():
            counted[name] = counted.get(name, 0) + n
    return kind(joined, counted)
