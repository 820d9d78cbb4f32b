"""Named entities with a conditional random field: without clusters, with the paper's, with ours.

The tagger is crfsuite with the usual features (words around, affixes, shapes); clusters enter as prefixes of 4, 6,
10 and 20 bits of the word and its neighbours, as in the paper and in Turian et al. (2010).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spectragram.clusters import WordClusters, count_files
from spectragram.data.columns import read_columns
from spectragram.metrics.sequences import span_scores

PREFIXES = (4, 6, 10, 20)
Sentences = list[tuple[tuple[str, ...], tuple[str, ...]]]


def ner_rows(data: Path, quick: bool) -> list[dict[str, Any]]:
    """Span F1 on the development parts of CoNLL-2002 and WNUT-17."""
    try:
        import pycrfsuite  # noqa: F401
    except ImportError:
        return []
    # Small texts: few clusters, and none for rare words, whose place would be learned by heart.
    small, large = {"n_clusters": 200, "min_count": 4}, {"n_clusters": 200, "min_count": 2}
    english = [data / "brown-text" / "brown.words.txt.gz", data / "wikitext-2" / "train.txt.gz"]
    wnut, conll = data / "wnut17", data / "conll2002"
    tasks: dict[str, tuple[Path, Path, list[Path], dict[str, int]]] = {
        "WNUT-17": (wnut / "train.conll", wnut / "dev.conll", english, large),
        "CoNLL-2002 Spanish": (conll / "esp.train.gz", conll / "esp.testa", [], small),
        "CoNLL-2002 Dutch": (conll / "ned.train.gz", conll / "ned.testa", [], small),
    }
    rows = []
    for name, (train_path, dev_path, more_text, settings) in list(tasks.items())[: 1 if quick else 3]:
        train, dev = _read(train_path), _read(dev_path)
        without = tagger_f1(train, dev, {})
        paper, ours = (
            tagger_f1(train, dev, cluster_paths(train, more_text, learner, **settings))
            for learner in ("spectral", "exchange")
        )
        for what, f1, anchor, source in (
            ("our clusters", ours, without, "the same tagger without clusters"),
            ("our clusters", ours, paper, "the same tagger with the paper's clusters"),
        ):
            row = {"name": f"{name}, {what}", "measure": "entity F1", "value": f1, "anchor": anchor}
            rows.append(row | {"anchor_source": source, "better": "higher"})
    return rows


def _read(path: Path) -> Sentences:
    return [(s.columns[0], s.columns[1]) for s in read_columns(path, columns=(0, -1))]


def cluster_paths(train: Sentences, more_text: list[Path], learner: str, **options: Any) -> dict[str, str]:
    """Bit strings from the words of the training part (and more text)."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "train.txt"
        own.write_text("".join(" ".join(words) + "\n" for words, _ in train), encoding="utf-8")
        counts = count_files([own, *more_text], max_size=50_000, window=1)
    model = WordClusters(learner=learner, n_dimensions=0, n_jobs=-1, **options).fit(counts)
    return {word: path for word, path in model.paths_.items() if word != "<unk>"}


def tagger_f1(train: Sentences, dev: Sentences, paths: dict[str, str], max_iterations: int = 80) -> float:
    """F1 of a CRF that sees the paths of words, if any."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.1, "c2": 0.01, "max_iterations": max_iterations, "feature.possible_transitions": True})
    for words, labels in train:
        trainer.append(pycrfsuite.ItemSequence(sentence_features(words, paths)), labels)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
        predicted = [tagger.tag(pycrfsuite.ItemSequence(sentence_features(words, paths))) for words, _ in dev]
    return round(span_scores([labels for _, labels in dev], predicted)["f1"], 2)


def sentence_features(words: Sequence[str], paths: dict[str, str]) -> list[list[str]]:
    """Features of every word of a sentence."""
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
    """The word, its lower-cased form and its shape (these three also serve for neighbours), and affixes."""
    shape = re.sub("[A-ZÁÉÍÓÚÑÜ]", "A", re.sub("[a-záéíóúñüëï]", "a", re.sub("[0-9]", "0", word)))
    short = re.sub(r"(.)\1+", r"\1", shape)
    affixes = [f"p{n}={word[:n]}" for n in range(1, 5)] + [f"s{n}={word[-n:]}" for n in range(1, 5)]
    return [f"w={word.lower()}", f"sh={short}", f"cap={word[:1].isupper()}", f"W={word}", f"shape={shape}", *affixes]
