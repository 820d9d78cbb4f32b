"""Named-entity recognition with a conditional random field: without clusters, with the paper's, and with ours.

The tagger is crfsuite with the usual features (neighbouring words, affixes, shapes). Clusters enter as prefixes of 4,
6, 10 and 20 bits of the word and its neighbours, as in the paper and in Turian et al. (2010).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spectragram.clusters import WordClusters, count_files
from spectragram.data.columns import read_columns
from spectragram.errors import MissingExtraError
from spectragram.metrics.sequences import span_scores

__all__ = ["TASKS", "clustered_f1", "crf_labels", "entity_scores"]

PREFIXES = (4, 6, 10, 20)
"""Lengths of the cluster prefixes in bits, from Turian et al. (2010)."""
REGULARISATION = {"c1": 0.1, "c2": 0.01}
"""L1 and L2 weights of crfsuite. Chosen by hand, not tuned."""
KINDS: dict[str, dict[str, Any]] = {
    "brown": {"learner": "brown"},
    "paper": {"recipe": "paper", "kappa": 5.0},
    "ours": {"learner": "exchange"},
}
"""Brown's clusters, the paper's as written with a kappa that suits texts a hundredth as long as RCV1, and ours."""
Sentences = list[tuple[list[str], list[str]]]


@dataclass(frozen=True)
class _Task:
    """Column files for training and scoring, additional text for the clusters, and the smallest word count."""

    train: str
    dev: str
    more_text: tuple[str, ...]
    min_count: int  # In small texts rare words get no cluster, since the tagger would memorise it.


TASKS = {
    "WNUT-17": _Task(
        "wnut17/train.conll", "wnut17/dev.conll", ("brown-text/brown.words.txt.gz", "wikitext-2/train.txt.gz"), 2
    ),
    "CoNLL-2002 Spanish": _Task("conll2002/esp.train.gz", "conll2002/esp.testa", (), 4),
    "CoNLL-2002 Dutch": _Task("conll2002/ned.train.gz", "conll2002/ned.testa", (), 4),
}


def entity_scores(data: Path, name: str, n_clusters: int = 200) -> dict[str, float]:
    """Span F1 on the development set ``without`` clusters, with Brown's, those of the ``paper``, and ``ours``.

    The number of clusters and the smallest counts of ``TASKS`` were chosen by hand, not tuned.
    """
    if find_spec("pycrfsuite") is None:
        raise MissingExtraError("python-crfsuite", "peers")
    task = TASKS[name]
    train, dev = _read(data / task.train), _read(data / task.dev)
    scores = {"without": tagger_f1(train, dev, {})}
    for what, settings in KINDS.items():
        scores[what] = clustered_f1(data, name, n_clusters=n_clusters, **settings)
    return scores


def clustered_f1(data: Path, name: str, **settings: Any) -> float:
    """Span F1 on the development set with clusters of these settings."""
    task = TASKS[name]
    train, dev = _read(data / task.train), _read(data / task.dev)
    paths = cluster_paths(train, [data / path for path in task.more_text], min_count=task.min_count, **settings)
    return tagger_f1(train, dev, paths)


def _read(path: Path) -> Sentences:
    return [(s.columns[0], s.columns[1]) for s in read_columns(path, columns=(0, -1))]


def cluster_paths(train: Sentences, more_text: list[Path], **options: Any) -> dict[str, str]:
    """The bit string of each word, from clusters of the training sentences and of additional text."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "train.txt"
        own.write_text("".join(" ".join(words) + "\n" for words, _ in train), encoding="utf-8")
        counts = count_files([own, *more_text], max_size=50_000, window=2)
    model = WordClusters(n_dimensions=0, n_jobs=-1, **options).fit(counts)
    return {word: path for word, path in model.paths_.items() if word != "<unk>"}


def tagger_f1(train: Sentences, dev: Sentences, paths: dict[str, str], max_iterations: int = 80) -> float:
    """Span F1 of a CRF whose features include the bit strings of words that have one.

    The default of ``max_iterations`` was chosen by hand, not tuned.
    """
    predicted = crf_labels(
        [(sentence_features(words, paths), labels) for words, labels in train],
        [sentence_features(words, paths) for words, _ in dev],
        max_iterations=max_iterations,
        possible_transitions=True,
    )
    return round(span_scores([labels for _, labels in dev], predicted)["f1"], 2)


def crf_labels(
    train: Iterable[tuple[list[list[str]], list[str]]],
    dev: Iterable[list[list[str]]],
    *,
    max_iterations: int,
    possible_transitions: bool = False,
    regularisation: dict[str, float] | None = None,
) -> list[list[str]]:
    """Train crfsuite on sequences of (features of each token, labels) and return the labels of the dev sequences."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    settings = {"max_iterations": max_iterations, "feature.possible_transitions": possible_transitions}
    trainer.set_params((regularisation or REGULARISATION) | settings)
    for features, labels in train:
        trainer.append(features, labels)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
        return [tagger.tag(features) for features in dev]


def sentence_features(words: Sequence[str], paths: dict[str, str]) -> list[list[str]]:
    """The features of each word in a sentence."""
    own = [_word_features(word) for word in words]
    clusters = [[f"c{n}={paths[word][:n]}" for n in PREFIXES] if word in paths else [] for word in words]
    features = []
    for i in range(len(words)):
        found = ["bias", *own[i], *clusters[i]]
        for place in (-2, -1, 1, 2):
            if not 0 <= i + place < len(words):
                found.append(f"{place}:edge")
                continue
            found += [f"{place}:{feature}" for feature in own[i + place][:3]]
            if abs(place) == 1:
                found += [f"{place}:{feature}" for feature in clusters[i + place]]
        features.append(found)
    return features


def _word_features(word: str) -> list[str]:
    """Lower-cased word, short shape and capitalisation, which neighbours use too; then word, shape and affixes."""
    shape = re.sub("[A-ZÁÉÍÓÚÑÜ]", "A", re.sub("[a-záéíóúñüëï]", "a", re.sub("[0-9]", "0", word)))
    short = re.sub(r"(.)\1+", r"\1", shape)
    affixes = [f"p{n}={word[:n]}" for n in range(1, 5)] + [f"s{n}={word[-n:]}" for n in range(1, 5)]
    return [f"w={word.lower()}", f"sh={short}", f"cap={word[:1].isupper()}", f"W={word}", f"shape={shape}", *affixes]
