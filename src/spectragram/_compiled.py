"""Where compiled kernels are kept between runs.

numba keeps them beside the source or in the user's cache folder, and refuses to compile at all if it can write to
neither: a container whose user has no home and may not write to site-packages could not start. Such a process gets a
folder of its own, which is removed at its end.
"""

from __future__ import annotations

import os
import sys

__all__ = ["announce_compilation", "ensure_kernel_cache"]

_STATE: dict[str, bool] = {}
PACKAGE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - importing pathlib takes longer than all of this


def ensure_kernel_cache() -> None:
    """Give numba a folder to write to if it has none; say so once.

    numba refuses a folder that it cannot write to even if all it needs is there, as in an image that was made with
    ``spectragram warm-up`` and runs read-only. Such a folder is copied.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    if _is_writable(given) if given else _is_writable(PACKAGE) or _is_writable(_user_cache()):
        return
    import atexit
    import shutil
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="spectragram-kernels-")
    except OSError:
        return  # nothing can be written anywhere: numba will say so
    if given and os.path.isdir(given):  # noqa: PTH112
        shutil.copytree(given, folder, dirs_exist_ok=True, copy_function=shutil.copy2)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder
    if given:
        return
    print(
        "spectragram: no folder for compiled code can be written to, so every run compiles again (2 to 70 s); "
        "set NUMBA_CACHE_DIR to one that lasts",
        file=sys.stderr,
    )


def announce_compilation() -> None:
    """From now on the first kernel that has to be compiled is announced on the terminal, once; silent in a pipe."""
    if "announced" in _STATE or not sys.stderr.isatty():
        return
    _STATE["announced"] = True
    from numba.core import event

    class Announcement(event.Listener):  # type: ignore[misc]
        def on_start(self, started: object) -> None:
            if _STATE.pop("silent", None):
                print("compiling for the first use; later runs start at once ('spectragram warm-up')", file=sys.stderr)

        def on_end(self, ended: object) -> None:
            pass

    _STATE["silent"] = True
    event.register("numba:compile", Announcement())  # type: ignore[no-untyped-call]


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
