"""Memory that tasks use one after the other: fresh memory costs as much as the work in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = ["Scratch"]


class Scratch:
    """Arrays of one shape, lent to threads; a copy that travels to another process begins without any.

    >>> scratch = Scratch()
    >>> with scratch.array((2, 3), float) as first:
    ...     pass
    >>> with scratch.array((2, 3), float) as second:
    ...     second is first
    True
    """

    def __init__(self) -> None:
        self._free: list[np.ndarray] = []

    @contextmanager
    def array(self, shape: tuple[int, ...], dtype: Any) -> Iterator[np.ndarray]:
        """An array whose content means nothing."""
        memory = self._free.pop() if self._free else np.empty(shape, dtype)
        if memory.shape != shape or memory.dtype != dtype:
            memory = np.empty(shape, dtype)
        yield memory
        self._free.append(memory)

    def __reduce__(self) -> tuple[type[Scratch], tuple[()]]:
        return Scratch, ()
