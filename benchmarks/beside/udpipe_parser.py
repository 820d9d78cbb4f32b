"""UDPipe 1 (C++, transition-based, neural) on the WSJ sample: attachment, training, parsing, turn by turn on one core.

Both parsers get gold tags, and words in the second pair.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import Row, data_folder, ratio_row, row, take_turns
from benchmarks.udpipe_models import as_udpipe, trained_udpipe
from spectragram.data import Sentence, read_conllu
from spectragram.dependency import DependencyParser

if TYPE_CHECKING:
    import ufal.udpipe as udpipe

# UDPipe's usual ten iterations and sizes; of the two kinds of tags the finer one, which determines the other. The
# corpus has no lemmas, features or relations.
COMMON = (
    "iterations=10;transition_system=projective;transition_oracle=static;structured_interval=0;"
    "embedding_upostag=0;embedding_xpostag=20;embedding_feats=0;embedding_deprel=0;"
)
INPUTS = {"tags alone": "embedding_form=0", "words": "embedding_form=50"}


def run(quick: bool) -> list[Row]:
    data = data_folder()
    if data is None or find_spec("ufal") is None or find_spec("ufal.udpipe") is None:
        return []
    folder = data / "wsj-dependencies"
    train, dev = (list(read_conllu(folder / name, check_tree=True)) for name in ("train.conllu.gz", "dev.conllu"))
    if quick:
        train = train[:300]
    DependencyParser(n_epochs=1, n_jobs=1).fit(train[:100]).predict(dev[:10])  # compiled before the clock starts
    return [found for name in INPUTS for found in _compared(name, train, dev)]


def _compared(name: str, train: list[Sentence], dev: list[Sentence]) -> list[Row]:
    their_train, their_dev = with_relations(train), as_udpipe(with_relations(dev))
    models: dict[str, Any] = {}
    heads: dict[str, list] = {}

    def fit_ours() -> None:
        models["ours"] = DependencyParser(words=name == "words", n_jobs=1).fit(train)

    def fit_theirs() -> None:
        models["theirs"] = trained_udpipe(their_train, "none", "none", COMMON + INPUTS[name])

    def parse_ours() -> None:
        heads["ours"] = [sentence.heads for sentence in models["ours"].predict(dev)]

    def parse_theirs() -> None:
        heads["theirs"] = udpipe_heads(models["theirs"], their_dev)

    training = take_turns({"ours": fit_ours, "theirs": fit_theirs}, 1)
    parsing = take_turns({"ours": parse_ours, "theirs": parse_theirs}, 3)
    gold = np.concatenate([sentence.heads for sentence in dev])
    uas = {who: 100 * float(np.mean(np.concatenate(found) == gold)) for who, found in heads.items()}
    return [
        row(f"WSJ sample, {name}", "UAS", uas["ours"], uas["theirs"], "UDPipe 1, same run", "higher"),
        ratio_row(f"WSJ sample, {name}: train", "UDPipe", training["theirs"], training["ours"]),
        ratio_row(f"WSJ sample, {name}: parse", "UDPipe", parsing["theirs"], parsing["ours"]),
    ]


def udpipe_heads(model: udpipe.Model, sentences: list[udpipe.Sentence]) -> list[list[int]]:
    """Heads of every word; those that the sentences had are removed first."""
    for sentence in sentences:
        sentence.unlinkAllNodes()
        model.parse(sentence, "")
    return [[word.head for word in list(sentence.words)[1:]] for sentence in sentences]


def with_relations(sentences: list[Sentence]) -> list[Sentence]:
    """Sentences with relations, which UDPipe's trainer needs, made up: the corpus has none."""
    return [sentence.with_columns(deprel=_relations(sentence)) for sentence in sentences]


def _relations(sentence: Sentence) -> list[str]:
    return ["root" if head == 0 else "dep" for head in sentence.heads]
