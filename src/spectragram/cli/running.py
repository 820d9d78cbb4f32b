"""How commands run: mistakes are refused before long work, interrupts and closed pipes end quietly, exit statuses."""

from __future__ import annotations

import _thread
import errno
import io
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from functools import wraps
from pathlib import Path
from typing import IO, Any, cast

import typer

from spectragram.errors import InputError, ParameterError, SpectragramError
from spectragram.files import is_blank

__all__ = ["careful", "ends_quietly", "main", "run"]

INTERRUPTED = 130
IN_MEMORY = 1 << 24
"""Bytes of output that wait in memory for the end of a command; more of them wait in a file. Chosen by hand."""
READ = ("data", "input", "gold", "model", "dev", "solution", "tagger", "extend", "raw", "clusters", "teacher", "text")
WRITTEN = ("out", "html", "counts")
"""Options of all commands that name files."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 fine, 1 our defect, 2 the user's, 130 interrupted."""
    from spectragram.cli.app import command
    from spectragram.cli.options import option_of

    try:
        command()(args=argv, prog_name="spectragram")
    except ParameterError as trouble:
        return _complain(trouble.told_as(option_of(trouble.parameter)))
    except SpectragramError as trouble:
        return _complain(str(trouble))
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    except OSError as trouble:
        if trouble.errno != errno.ENOSPC:
            raise
        return _complain("standard output cannot be written: no space left on the device; free some and repeat")
    except MemoryError:
        return _complain("out of memory; use fewer states, a smaller vocabulary, or --jobs 1")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    return 0


def _complain(message: str) -> int:
    print("error: " + " ".join(message.split("\n")), file=sys.stderr)
    return 2


def run() -> None:
    """Entry point of the console script."""
    sys.unraisablehook = _interrupt_again
    status = main()
    if status == INTERRUPTED:
        # Threads may still be in compiled code that works on memory which an orderly end would free.
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _interrupt_again(lost: Any) -> None:
    """Raise an interrupt again that came where Python drops exceptions: in finalizers and garbage collections."""
    if lost.exc_type is KeyboardInterrupt:
        threading.Timer(0.01, _thread.interrupt_main).start()  # at once, it would be lost in here
    else:
        sys.__unraisablehook__(lost)


def careful(command: Callable[..., None], *, whole: bool = False) -> Callable[..., None]:
    """``command``, with what would waste long work, overwrite its input or end obscurely refused before it begins.

    ``whole``: what it prints appears when it has succeeded, all of it, unless it reads standard input as it comes.
    """

    @wraps(command)
    def run(**options: Any) -> None:
        read = [str(path) for name in READ for path in _listed(options.get(name))]
        for name in WRITTEN:
            if options.get(name) is not None and str(options[name]) != "-":
                _require_writable(Path(options[name]), [] if name == "counts" else read)
        if "data" in options:
            _require_model_file(options["out"])
            _require_content("training data", _listed(options["data"]))
            _require_content("held-out data", _listed(options.get("dev")))
        ends_quietly(_whole(command) if whole and options.get("input") != "-" else command)(**options)

    return run


def _whole(command: Callable[..., None]) -> Callable[..., None]:
    """``command``; an error leaves nothing on standard output, as if it had been found before anything was printed."""

    @wraps(command)
    def run(**options: Any) -> None:
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as kept:
            text = io.TextIOWrapper(cast(IO[bytes], kept), encoding="utf-8", errors="surrogatepass", newline="")
            with redirect_stdout(text):
                command(**options)
            text.seek(0)
            shutil.copyfileobj(text, sys.stdout)

    return run


def ends_quietly(command: Callable[..., None]) -> Callable[..., None]:
    """``command``; Ctrl-C and a reader that went away (head, less) end it without a traceback."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
            sys.stdout.flush()
        except BrokenPipeError:
            # That is the reader's right. Keep the interpreter from complaining at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (KeyboardInterrupt, SystemError) as trouble:
            # An interrupt that arrives as a compiled function returns is wrapped by the interpreter.
            if not isinstance(trouble, KeyboardInterrupt) and not isinstance(trouble.__cause__, KeyboardInterrupt):
                raise
            print("\ninterrupted", file=sys.stderr)
            raise typer.Exit(130) from None

    return run


def _listed(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _require_writable(path: Path, read: Iterable[str]) -> None:
    if not path.absolute().parent.is_dir():
        raise InputError("cannot be written: there is no such folder", path=path, remedy="make the folder first")
    if any(path.exists() and Path(other).exists() and path.samefile(other) for other in read if other != "-"):
        raise InputError("is read by this very command", path=path, remedy="write to another file")


def _require_model_file(out: Path) -> None:
    if str(out) == "-":
        raise InputError("a model cannot go to standard output", remedy="give --out a file name")


def _require_content(what: str, sources: list[Any]) -> None:
    if sources and "-" not in sources and all(map(is_blank, sources)):
        raise InputError("is empty", path=sources[0], remedy=f"give {what}")
