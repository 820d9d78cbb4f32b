"""Are the distributions over words proper, how good are they, and do garden paths show?

Perplexity per word (ends of sentences included) over the same open vocabulary: every model spells out the words that it
does not know. The weights of the mixture are fitted on one half of dev and scored on the other, both ways round.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Row, data_folder, row
from spectragram.constituency import ConstituencyParser
from spectragram.data.inputs import as_trees
from spectragram.data.trees import Tree
from spectragram.lm import LanguageModel
from spectragram.tagging import Tagger

GARDEN_PATHS = [
    ("The horse raced past the barn fell .", "The horse that was raced past the barn fell .", "fell"),
    (
        "The defendant examined by the lawyer turned out to be unreliable .",
        "The defendant that was examined by the lawyer turned out to be unreliable .",
        "by",
    ),
    ("The workers paid last year complained .", "The workers who were paid last year complained .", "complained"),
    (
        "The investors believed the company would fall .",
        "The investors believed that the company would fall .",
        "would",
    ),
    ("The judge found the company had lost .", "The judge found that the company had lost .", "had"),
    ("When the company sold the shares fell .", "When the company sold , the shares fell .", "fell"),
    (
        "Since Jay always jogs a mile seems like a short distance .",
        "Since Jay always jogs , a mile seems like a short distance .",
        "seems",
    ),
    ("The company sold the unit and the shares fell .", "The company sold the unit , and the shares fell .", "fell"),
    ("The old man the boat .", "The old people man the boat .", "the"),
    (
        "The company put the money in the bank in the fund .",
        "The company put the money that was in the bank in the fund .",
        "in",
    ),
]
"""Ambiguous and unambiguous sentences and the disambiguating word, its last occurrence: reduced relatives (Bever 1970;
Ferreira & Clifton 1986; MacDonald et al. 1994), sentential complements and transitive subordinate verbs (Frazier &
Rayner 1982), coordination (Frazier & Clifton 1987), nouns and verbs, phrases of place (Tanenhaus et al. 1995). Written
down before any model was asked; some have words of the Wall Street Journal in place of the original ones."""
N_PREFIXES = 1000
LONGEST = 100
"""Words after which a piece of text without a full stop is cut, so that paragraphs have charts."""


def run(quick: bool) -> list[Row]:
    folder = data_folder()
    if folder is None:
        return []
    clean = folder / "wsj-sample" / "clean"
    train, dev = as_trees(clean / "train.txt.gz"), as_trees(clean / "dev.txt")
    models = _models(train)
    sentences = [tree.leaves() for tree in dev][: 60 if quick else None]
    rows = _perplexities(models, sentences)
    rows += _sums(models, sentences, 50 if quick else N_PREFIXES)
    rows += [_garden_paths(name, models[name]) for name in ("parser --fast", "parser")]
    texts = {
        "wsj dev": sentences,
        "Brown dev": list(_sentences(folder / "brown-text" / "lm" / "dev.txt.gz")),
        "WikiText-2 dev": list(_sentences(folder / "wikitext-2" / "valid.txt.gz")),
    }
    for text, found in texts.items():
        for name in ("parser --fast", "class model", "n-gram", "tagger"):
            least = min(float(bits.min()) for bits in models[name].surprisal(found[: 60 if quick else None]))
            rows.append(row(f"{name}, {text}", "smallest surprisal, bits", least, 0.0, "no negative one", "higher"))
    return rows


def _models(train: Sequence[Tree]) -> dict[str, Any]:
    words = [tree.leaves() for tree in train]
    tags = [_tags(tree) for tree in train]
    return {
        "parser --fast": ConstituencyParser(preset="fast", n_jobs=1).fit(train),
        "parser": ConstituencyParser(n_jobs=1).fit(train),
        "tagger": Tagger(factors=False, n_jobs=1).fit(words, tags),
        "class model": LanguageModel(learner="pivot+em", boundaries=True, n_jobs=1).fit(words),
        "n-gram": LanguageModel(learner="kn", boundaries=True, n_jobs=1).fit(words),
        "class model and n-gram": LanguageModel(boundaries=True, n_jobs=1).fit(words),
    }


def _tags(tree: Tree) -> list[str]:
    return [tree.label] if tree.word is not None else [tag for child in tree.children for tag in _tags(child)]


def _perplexities(models: dict[str, Any], sentences: list[list[str]]) -> list[Row]:
    bits = {name: np.concatenate(model.surprisal(sentences)) for name, model in models.items()}
    rows = [row(name, "perplexity, wsj-sample dev", round(float(2 ** b.mean()), 1)) for name, b in bits.items()]
    for parts in (("parser", "class model", "n-gram"), ("parser", "tagger", "class model and n-gram")):
        probs = np.stack([2.0 ** -bits[name] for name in parts], axis=1)
        half = len(probs) // 2
        mixed = np.concatenate([probs[:half] @ _weights(probs[half:]), probs[half:] @ _weights(probs[:half])])
        value = float(2 ** -np.log2(mixed).mean())
        rows.append(row("mixture of " + ", ".join(parts), "perplexity, wsj-sample dev", round(value, 1)))
    return rows


def _weights(probs: np.ndarray) -> np.ndarray:
    """Weights of a mixture by EM, from probabilities (n, models)."""
    weights = np.full(probs.shape[1], 1.0 / probs.shape[1])
    for _ in range(100):
        shares = probs * weights
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights


def _sums(models: dict[str, Any], sentences: list[list[str]], n: int) -> list[Row]:
    """Half of the prefixes are those of sentences, half are words in any order."""
    rng = np.random.default_rng(0)
    words = [word for sentence in sentences for word in sentence]
    prefixes = []
    for i in range(n):
        sentence = sentences[int(rng.integers(len(sentences)))]
        length = int(rng.integers(min(len(sentence), 30) + 1))
        prefixes.append(sentence[:length] if i % 2 else [words[j] for j in rng.integers(len(words), size=length)])
    rows = []
    for name, model in models.items():
        worst = max(
            float(np.abs(model.next(prefixes[start : start + 50]).sum(axis=1) - 1.0).max()) for start in range(0, n, 50)
        )
        rows.append(row(name, f"|sum of next words - 1|, {n} prefixes", worst, 1e-6, "target"))
    return rows


def _garden_paths(name: str, model: Any) -> Row:
    shown = 0
    for ambiguous, plain, word in GARDEN_PATHS:
        first, second = (_last(model, text.split(), word) for text in (ambiguous, plain))
        shown += first > second
    return row(name, "garden paths of 10 that show", shown, 8, "target", "higher")


def _last(model: Any, words: list[str], word: str) -> float:
    place = len(words) - 1 - words[::-1].index(word)
    return float(model.surprisal([words])[0][place])


def _sentences(path: Path) -> Iterator[list[str]]:
    """Pieces of lines that end in a full stop."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            piece: list[str] = []
            for word in line.split():
                piece.append(word)
                if word in (".", "?", "!") or len(piece) == LONGEST:
                    yield piece
                    piece = []
            if piece:
                yield piece
