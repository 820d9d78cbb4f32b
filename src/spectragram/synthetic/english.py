"""Demo corpora: each seed gives the same English sentences as trees, dependencies, tags, chunks and plain text.

The sentences are drawn from a latent-variable PCFG (:mod:`spectragram.synthetic.english_grammar`). Learners only see
Penn Treebank labels. Number, case, tense, the kinds of nouns and the classes of verbs are hidden, and a model has to
find them to parse and predict well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from spectragram.data.brackets import write_trees
from spectragram.data.conllu import Sentence, write_conllu
from spectragram.data.trees import Tree
from spectragram.errors import InputError
from spectragram.files import Source, output
from spectragram.synthetic.english_grammar import Derivation, EnglishGrammar
from spectragram.synthetic.english_lexicon import AUXILIARIES

__all__ = [
    "MAX_WORDS",
    "english_chunks",
    "english_dependencies",
    "english_derivations",
    "english_tagged",
    "english_text",
    "english_trees",
    "write_english",
]

MAX_WORDS = 25
"""Longer sentences are rejected and drawn again. Chosen by hand, for trees that fit a screen."""

BLOCK = 4096
"""Random numbers drawn at once. The stream of numbers is the same for every block size, so any size does."""

UNIVERSAL_TAGS = {
    "CC": "CCONJ", "CD": "NUM", "DT": "DET", "IN": "ADP", "JJ": "ADJ", "MD": "AUX", "NN": "NOUN", "NNS": "NOUN",
    "NNP": "PROPN", "POS": "PART", "PRP": "PRON", "PRP$": "PRON", "RB": "ADV", "TO": "PART", "VB": "VERB",
    "VBD": "VERB", "VBG": "VERB", "VBN": "VERB", "VBP": "VERB", "VBZ": "VERB", "WDT": "PRON", "WP": "PRON",
    "WRB": "ADV", ".": "PUNCT", ",": "PUNCT", "``": "PUNCT", "''": "PUNCT",
}  # fmt: skip
"""The usual universal tag of each Penn tag; ``_universal_tag`` handles those that depend on the word."""

Labelled = tuple[list[str], list[str]]
"""The words of a sentence and one label per word."""


def english_derivations(n: int, seed: int = 0) -> list[Derivation]:
    """The first ``n`` sentences of a seed as full derivations, including the hidden states.

    A larger ``n`` continues the same list: ``english_derivations(9)[:5] == english_derivations(5)``.
    """
    if n < 0:
        raise InputError(f"cannot generate n={n} sentences", remedy="use 0 or more")
    uniform = _uniform_numbers(np.random.default_rng(seed)).__next__
    grammar = _grammar()
    sentences: list[Derivation] = []
    while len(sentences) < n:
        sentence = grammar.sample(uniform)
        if sentence is not None and sum(1 for _ in _leaves(sentence)) <= MAX_WORDS:
            sentences.append(sentence)
    return sentences


def english_trees(n: int, seed: int = 0) -> list[Tree]:
    """Trees with Penn Treebank labels and the root TOP.

    >>> print(english_trees(2)[1].children[0].pretty(60))
    (S
      (NP (PRP$ Her) (NN dog))
      (VP
        (VBD visited)
        (NP (NNP Lisbon))
        (PP (IN before) (NP (DT the) (NN storm))))
      (. .))
    """
    return [_tree(derivation) for derivation in english_derivations(n, seed)]


def english_dependencies(n: int, seed: int = 0) -> list[Sentence]:
    """Projective dependency trees as CoNLL-U sentences: universal and Penn tags, heads and relations."""
    return [_dependencies(derivation) for derivation in english_derivations(n, seed)]


def english_tagged(n: int, seed: int = 0) -> list[Labelled]:
    """The words and Penn tags of each sentence."""
    return [(tree.leaves(), tree.tags()) for tree in english_trees(n, seed)]


def english_chunks(n: int, seed: int = 0) -> list[Labelled]:
    """The words and base noun phrases (B-NP, I-NP, O) of each sentence."""
    return [(tree.leaves(), _chunk_labels(tree)) for tree in english_trees(n, seed)]


def english_text(n: int, seed: int = 0) -> list[list[str]]:
    """The words of each sentence."""
    return [tree.leaves() for tree in english_trees(n, seed)]


def write_english(folder: Source, n: int = 1000, seed: int = 0, name: str = "english") -> dict[str, Path]:
    """Write one corpus in every format of the library, and return the path of each file by its suffix.

    The files are ``name.trees`` (one tree per line), ``name.conllu``, ``name.tags`` and ``name.chunks`` (token, tab,
    label), ``name.strings`` (the tags of one sentence per line), ``name.txt`` (one sentence per line) and
    ``name.treebank.conllu`` (a complete treebank of Universal Dependencies, with raw text, lemmas and features).
    """
    from spectragram.synthetic.english_treebank import english_treebank

    names = ("trees", "conllu", "tags", "chunks", "strings", "txt", "treebank.conllu")
    paths = {what: Path(folder) / f"{name}.{what}" for what in names}
    write_trees(english_trees(n, seed), paths["trees"])
    write_conllu(english_dependencies(n, seed), paths["conllu"])
    write_conllu(english_treebank(n, seed), paths["treebank.conllu"])
    _write_lines(map(_columns, english_tagged(n, seed)), paths["tags"])
    _write_lines((" ".join(tags) for _, tags in english_tagged(n, seed)), paths["strings"])
    _write_lines(map(_columns, english_chunks(n, seed)), paths["chunks"])
    _write_lines(map(" ".join, english_text(n, seed)), paths["txt"])
    return paths


def _columns(sentence: Labelled) -> str:
    return "".join(f"{word}\t{label}\n" for word, label in zip(*sentence, strict=True))


def _write_lines(lines: Iterable[str], path: Path) -> None:
    with output(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)


@cache
def _grammar() -> EnglishGrammar:
    """The grammar, built once: it never changes, and expanding its rules takes a moment."""
    return EnglishGrammar()


def _uniform_numbers(rng: np.random.Generator) -> Iterator[float]:
    """Yield numbers in [0, 1); they are drawn in blocks because single draws are slow."""
    while True:
        yield from rng.random(BLOCK).tolist()


def _leaves(derivation: Derivation) -> Iterator[Derivation]:
    if derivation.word:
        yield derivation
    for child in derivation.children:
        yield from _leaves(child)


def _surface(derivation: Derivation) -> list[str]:
    """The words as written: "an" before a vowel, and a capital at the start of the sentence."""
    words = [leaf.word for leaf in _leaves(derivation)]
    for i, (word, following) in enumerate(pairwise(words)):
        if word == "a" and following[0] in "aeiou":
            words[i] = "an"
    first = 1 if words[0] == "``" else 0
    words[first] = words[first][0].upper() + words[first][1:]
    return words


def _tree(derivation: Derivation) -> Tree:
    words = iter(_surface(derivation))

    def build(node: Derivation) -> Tree:
        if node.word:
            return Tree(node.label, word=next(words))
        return Tree(node.label, [build(child) for child in node.children])

    return build(derivation)


def _dependencies(derivation: Derivation) -> Sentence:
    words = _surface(derivation)
    tags = [leaf.label for leaf in _leaves(derivation)]
    heads, relations = ["0"] * len(words), ["root"] * len(words)
    positions = iter(range(len(words)))

    def attach(node: Derivation) -> int:
        """Attach the words below the node to each other and return the position of its head word."""
        if node.rule is None:
            return next(positions)
        below = [attach(child) for child in node.children]
        head = below[node.rule.head]
        for place, relation in zip(below, node.rule.relations, strict=True):
            if place != head:
                heads[place], relations[place] = str(head + 1), relation
        return head

    attach(derivation)
    universal = [_universal_tag(leaf) for leaf in _leaves(derivation)]
    return Sentence.from_words(words, upos=universal, xpos=tags, head=heads, deprel=relations)


def _universal_tag(leaf: Derivation) -> str:
    if leaf.symbol.rpartition(".")[2] in AUXILIARIES:
        return "AUX"
    if leaf.symbol in ("IN/that", "IN/whether", "IN/clause"):
        return "SCONJ"
    return UNIVERSAL_TAGS[leaf.label]


def _chunk_labels(tree: Tree) -> list[str]:
    """Chunk labels; a base noun phrase is a run of words directly under one NP, without conjunctions."""
    labels: list[str] = []

    def visit(node: Tree) -> None:
        inside = False
        for child in node.children:
            in_chunk = child.is_tag and node.label == "NP" and child.label != "CC"
            if child.is_tag:
                labels.append(("I-NP" if inside else "B-NP") if in_chunk else "O")
            else:
                visit(child)
            inside = in_chunk

    visit(tree)
    return labels
