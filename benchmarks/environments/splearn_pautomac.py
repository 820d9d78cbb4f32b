"""scikit-splearn on one PAutomaC problem; runs in its own environment (it needs numpy 1) and prints JSON.

    python splearn_pautomac.py search TRAIN TEST               choose settings on held-out strings, score test strings
    python splearn_pautomac.py fit TRAIN RANK VERSION LENGTH   processor seconds of one fit

Its user has to choose the rank, the kind of Hankel matrix and the length of rows and columns: a fifth of the training
strings is held out for that, and the best of the grid is fitted again on all of them.
"""

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from splearn import Spectral
from splearn.datasets.base import load_data_sample

RANKS = (10, 20, 40, 80)
BLOCKS = (("classic", 3), ("prefix", 3), ("factor", 3))
FLOOR = 1e-20


def main(what, train, *rest):
    lines = Path(train).read_text().splitlines()
    if what == "fit":
        rank, version, length = rest
        strings = load(lines)
        start = time.process_time()
        fit(strings, int(rank), version, int(length))
        print(json.dumps(time.process_time() - start))
        return
    start = time.process_time()
    settings = search(lines)
    model = fit(load(lines), *settings)
    seconds = time.process_time() - start
    found = probabilities(model, load_data_sample(rest[0]).data)
    print(json.dumps({"settings": settings, "seconds": seconds, "probabilities": found.tolist()}))


def load(lines):
    """Strings in the library's own container, which reads files only; the first line counts strings and symbols."""
    symbols = lines[0].split()[1]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join([f"{len(lines) - 1} {symbols}", *lines[1:]]) + "\n")
        file.flush()
        return load_data_sample(file.name).data


def fit(strings, rank, version, length):
    model = Spectral(
        rank=rank, lrows=length, lcolumns=length, version=version, partial=True, sparse=True,
        smooth_method="trigram", mode_quiet=True,
    )  # fmt: skip
    return model.fit(strings)


def probabilities(model, strings):
    return np.maximum(np.asarray(model.predict(strings), dtype=float), FLOOR)


def search(lines):
    """Rank, version and length of the least perplexity on held-out strings, normalised over them as PAutomaC does."""
    head, strings = lines[0], lines[1:]
    kept, held_out = strings[len(strings) // 5 :], strings[: len(strings) // 5]
    distinct, counts = np.unique(held_out, return_counts=True)
    kept, held = load([head, *kept]), load([head, *distinct])
    scores = {}
    for version, length in BLOCKS:
        for rank in RANKS:
            try:
                model = fit(kept, rank, version, length)
            except ValueError:  # The block is smaller than the rank.
                continue
            found = probabilities(model, held)
            scores[rank, version, length] = float(counts @ np.log(found / found.sum()))
    return max(scores, key=scores.get)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
