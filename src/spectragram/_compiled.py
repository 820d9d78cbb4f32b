"""Where compiled kernels are kept between runs, and what happens while one is compiled.

numba keeps them beside the source or in the user's cache folder, and refuses to compile at all if it can write to
neither: a container whose user has no home and may not write to site-packages could not start. Where kernels were
compiled beforehand, numba is told to read them there and to keep nothing; otherwise the process gets a folder of its
own, which is removed at its end.
"""

from __future__ import annotations

import os
import sys

__all__ = ["ensure_kernel_cache", "watch_compilation"]

_STATE: dict[str, bool] = {}
PACKAGE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - importing pathlib takes longer than all of this


def ensure_kernel_cache() -> None:
    """Let numba start where it may write nowhere; say so once if it has to compile in every run."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if _is_writable(given) if given else _is_writable(PACKAGE) or _is_writable(_user_cache()):
        return
    if given and os.path.isdir(given):  # noqa: PTH112
        _read_only("UserProvidedCacheLocator")
        return
    if not given and _has_kernels():
        _read_only("InTreeCacheLocator")
        return
    if not _move_to_own_folder():
        _read_only("InTreeCacheLocator")
    if given:
        return
    print(
        "spectragram: no folder for compiled code can be written to, so every run compiles again (2 to 70 s); "
        "set NUMBA_CACHE_DIR to one that lasts",
        file=sys.stderr,
    )


def _read_only(place: str) -> None:
    """Let numba use what compiled code there is in a place, named by its own class, without writing there.

    numba refuses a folder that it cannot write to even if all that it needs is there.
    """
    import contextlib
    import importlib
    from typing import Any

    caching: Any = importlib.import_module("numba.core.caching")
    # In older versions these names begin with an underscore.
    implementation = getattr(caching, "CacheImpl", None) or caching._CacheImpl
    locator = getattr(caching, place, None) or getattr(caching, f"_{place}")
    as_it_is = type("ReadOnlyLocator", (locator,), {"ensure_cache_path": lambda self: None})
    implementation._locator_classes.insert(0, as_it_is)
    save = caching.IndexDataCacheFile.save

    def save_if_possible(self: Any, key: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # what is compiled now is for this process alone
            save(self, key, data)

    caching.IndexDataCacheFile.save = save_if_possible


def _move_to_own_folder() -> bool:
    """Give numba a folder that lasts as long as this process; False if none can be made."""
    import atexit
    import shutil
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="spectragram-kernels-")
    except OSError:
        return False
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder
    return True


def watch_compilation() -> None:
    """From now on the first kernel that has to be compiled is announced on the terminal, once; silent in a pipe.

    While numba compiles, nothing is collected as garbage: it makes so many small objects, nearly all of which last
    until the kernel is done, that looking for those which do not takes 3 to 10 % of the time.
    """
    if "watched" in _STATE:
        return
    _STATE["watched"] = True
    _STATE["silent"] = sys.stderr.isatty()
    import gc

    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc]
        depth = 0
        collects = False

        def on_start(self, started: object) -> None:
            """numba holds its lock, so there is one thread here; kernels that the kernel calls are compiled within."""
            if self.depth == 0:
                self.collects = gc.isenabled()
                gc.disable()
            self.depth += 1
            if _STATE.pop("silent", False):
                print("compiling for the first use; later runs start at once ('spectragram warm-up')", file=sys.stderr)

        def on_end(self, ended: object) -> None:
            self.depth -= 1
            if self.depth == 0 and self.collects:
                gc.enable()

    event.register("numba:compile", Watch())  # type: ignore[no-untyped-call]


def _has_kernels() -> bool:
    """Whether kernels were compiled beside the source."""
    for folder, _, names in os.walk(PACKAGE):
        if folder.endswith("__pycache__") and any(name.endswith(".nbi") for name in names):
            return True
    return False


def _user_cache() -> str:
    """Where numba keeps compiled code if it cannot write beside the source."""
    home = os.path.expanduser("~")  # noqa: PTH111
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA", home)
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches")  # noqa: PTH118
    return os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")  # noqa: PTH118


def _is_writable(folder: str) -> bool:
    """Whether files can be made in a folder, or in the nearest folder above it that exists."""
    while not os.path.isdir(folder):  # noqa: PTH112
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return False
        folder = above
    return os.access(folder, os.W_OK | os.X_OK)
