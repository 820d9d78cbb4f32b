"""Where work is done: threads of this process, other processes, a cluster.

:func:`map_threads` runs compiled kernels, which release the GIL, on several threads. :func:`map_reduce` counts shards
of a corpus in local processes or on a cluster. Results are the same to the last bit for any number of workers. No other
module of the library starts threads or processes, or limits those of BLAS and OpenMP.
"""

from __future__ import annotations

from spectragram.engine.memory import require_memory
from spectragram.engine.processes import map_reduce
from spectragram.engine.threads import Threads, map_threads, resolve_jobs, single_threaded_blas
from spectragram.engine.workers import Executor

__all__ = [
    "Executor",
    "Threads",
    "map_reduce",
    "map_threads",
    "require_memory",
    "resolve_jobs",
    "single_threaded_blas",
]
