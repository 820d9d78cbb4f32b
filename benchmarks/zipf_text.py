"""Write synthetic text of any length: words follow Zipf's law, their classes a Markov chain.

    python -m benchmarks.zipf_text 50000000 big.txt

Word r of a class is drawn with probability proportional to 1 / (r + 2.7); the class moves on by a step from a skewed
distribution. There are 400,000 words, of which a text of 50 million tokens uses most.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

N_CLASSES = 40
WORDS_PER_CLASS = 10_000
LINE = 25
BLOCK = 1_000_000


def write_zipf(n_tokens: int, path: Path, seed: int = 0) -> None:
    """Write ``n_tokens`` words, 25 to a line; the same seed gives the same file."""
    rng = np.random.default_rng(seed)
    weight = 1 / (np.arange(WORDS_PER_CLASS) + 2.7)
    cumulative = np.cumsum(weight / weight.sum())
    steps = np.cumsum(0.7 ** np.arange(N_CLASSES))
    steps /= steps[-1]
    words = [f"w{i}".encode() for i in range(N_CLASSES * WORDS_PER_CLASS)]
    current = 0
    with path.open("wb") as stream:
        for start in range(0, n_tokens, BLOCK):
            n = min(BLOCK, n_tokens - start)
            classes = (current + np.cumsum(np.searchsorted(steps, rng.random(n)))) % N_CLASSES
            current = int(classes[-1])
            ranks = np.minimum(np.searchsorted(cumulative, rng.random(n)), WORDS_PER_CLASS - 1)
            ids = (ranks * N_CLASSES + classes).tolist()
            lines = (b" ".join(map(words.__getitem__, ids[i : i + LINE])) for i in range(0, n, LINE))
            stream.write(b"\n".join(lines) + b"\n")


if __name__ == "__main__":
    write_zipf(int(sys.argv[1]), Path(sys.argv[2]))
