"""The command line: parse arguments, call, print. ``run`` is the console script ``spectragram``."""

from spectragram.cli.running import main, run

__all__ = ["main", "run"]
