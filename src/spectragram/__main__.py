"""``python -m spectragram``: the same as the command ``spectragram``."""

from spectragram.cli import run

if __name__ == "__main__":
    run()
