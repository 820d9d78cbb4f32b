"""Perplexity of language models on the Brown split, beside the measured and published anchors."""

from __future__ import annotations

from benchmarks.measure import Row, data_folder, row
from spectragram.lm import LanguageModel

OWN = "independent modified Kneser-Ney on the same stream"
PAPER = "Cohen & Collins 2014, table 2"


def run(quick: bool) -> list[Row]:
    folder = data_folder()
    if folder is None:
        return []
    lm = folder / "brown-text" / "lm"
    train, dev, test = (lm / name for name in ("train.txt.gz", "dev.txt.gz", "test.txt"))
    cases = [
        ("bigram KN", {"learner": "kn", "order": 2}, 334.1, OWN),
        ("trigram KN", {"learner": "kn", "order": 3}, 317.0, OWN),
        ("mixed, m=128 (default)", {"learner": "mixed"}, 317.0, "trigram " + OWN),
        ("pivot+em, m=128", {"learner": "pivot+em"}, 357, PAPER),
    ]
    if not quick:
        cases.append(("em without prior, m=128", {"learner": "em", "prior": 0.0}, 364, PAPER + ", best m"))
    rows = []
    for name, settings, anchor, source in cases:
        model = LanguageModel(128, n_jobs=-1, **settings).fit(train, dev=dev)
        rows.append(row(name, "perplexity, Brown test", round(model.perplexity(test), 1), anchor, source))
    return rows
