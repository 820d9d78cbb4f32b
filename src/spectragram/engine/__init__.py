"""Where work is done: threads of this process, other processes, a cluster.

:func:`map_threads` runs compiled kernels, which release the GIL, on several threads. :func:`map_reduce` counts shards
of a corpus in local processes or on a cluster. :func:`map_shards`, :func:`stream_shards` and :class:`Resident` send
work to the executor of :func:`working_on`. Results are the same to the last bit for any number of workers. No other
module of the library starts threads or processes, or limits those of BLAS and OpenMP.
"""

from __future__ import annotations

from spectragram.engine.cluster import Resident, current_executor, map_shards, stream_shards, working_on
from spectragram.engine.memory import (
    Allocate,
    allocator,
    allocator_of,
    file_arrays,
    parse_memory,
    release,
    require_memory,
    scratch_array,
)
from spectragram.engine.processes import map_reduce
from spectragram.engine.threads import Threads, map_threads, resolve_jobs, single_threaded_blas
from spectragram.engine.workers import Executor

__all__ = [
    "Allocate",
    "Executor",
    "Resident",
    "Threads",
    "allocator",
    "allocator_of",
    "current_executor",
    "file_arrays",
    "map_reduce",
    "map_shards",
    "map_threads",
    "parse_memory",
    "release",
    "require_memory",
    "resolve_jobs",
    "scratch_array",
    "single_threaded_blas",
    "stream_shards",
    "working_on",
]
