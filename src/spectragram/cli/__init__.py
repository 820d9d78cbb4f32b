"""The command line: parse arguments, call, print. ``main`` is the console script ``spectragram``."""

from __future__ import annotations

import errno
import os
import sys

from spectragram.errors import ParameterError, SpectragramError

__all__ = ["main"]

INTERRUPTED = 130


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 fine, 1 our defect, 2 the user's, 130 interrupted."""
    from spectragram.cli.app import app
    from spectragram.cli.options import option_of

    try:
        app(args=argv, prog_name="spectragram")
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
    status = main()
    if status == INTERRUPTED:
        # Threads may still be in compiled code that works on memory which an orderly end would free.
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
