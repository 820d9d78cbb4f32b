"""scikit-splearn on one PAutomaC problem; runs in its own environment (it needs numpy 1) and prints JSON.

python splearn_pautomac.py all TRAIN TEST                  every setting: seconds, values of the test strings
python splearn_pautomac.py fit TRAIN RANK VERSION LENGTH   processor seconds of one fit
"""

import json
import sys
import time
import warnings

import numpy as np
from splearn import Spectral
from splearn.datasets.base import load_data_sample

RANKS = (10, 20, 40, 80)
BLOCKS = (("classic", 3), ("prefix", 3), ("factor", 3), ("factor", 4))
FLOOR = 1e-20


def main(what, train, *rest):
    strings = load_data_sample(train).data
    if what == "fit":
        rank, version, length = rest
        start = time.process_time()
        fit(strings, int(rank), version, int(length))
        print(json.dumps(time.process_time() - start))
        return
    test = load_data_sample(rest[0]).data
    found = []
    for version, length in BLOCKS:
        for rank in RANKS:
            start = time.process_time()
            try:
                model = fit(strings, rank, version, length)
            except ValueError:  # The block is smaller than the rank.
                continue
            seconds = time.process_time() - start
            values = np.maximum(np.asarray(model.predict(test), dtype=float), FLOOR).tolist()
            found.append({"settings": (rank, version, length), "seconds": seconds, "values": values})
    print(json.dumps(found))


def fit(strings, rank, version, length):
    model = Spectral(
        rank=rank, lrows=length, lcolumns=length, version=version, partial=True, sparse=True,
        smooth_method="trigram", mode_quiet=True,
    )  # fmt: skip
    return model.fit(strings)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
