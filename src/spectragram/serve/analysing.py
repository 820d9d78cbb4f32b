"""Text that somebody typed, as a model of any kind sees it."""

from __future__ import annotations

from typing import Any

from spectragram.data.conllu import Sentence, looks_like_row, parse_conllu
from spectragram.errors import InputError
from spectragram.files import plain_number
from spectragram.serve.formats import sentence_of
from spectragram.serve.pictures import (
    Options,
    dependency_picture,
    options_of,
    surprisal_picture,
    tag_picture,
    tree_picture,
)
from spectragram.serve.shelf import Shelf

__all__ = ["MAX_WORDS", "analyse", "sentences_in", "surprisals", "tag_options", "tagged"]

MAX_CHARACTERS = 20_000
"""Of a text that is analysed at once: ten pages."""
MAX_WORDS = 250
"""Of a sentence that is parsed: charts grow with the cube of it. Chosen by hand; sentences of treebanks are shorter."""


def sentences_in(text: object, *, punctuation: bool = True) -> list[Sentence]:
    """The sentences of a text, one a line, or of CoNLL-U."""
    if not isinstance(text, str) or not text.strip():
        raise InputError("no text", remedy="type a sentence")
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"{len(text)} characters", remedy=f"give at most {MAX_CHARACTERS} at a time")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    if any(map(looks_like_row, lines)):
        return _short(parse_conllu(text))
    found = (sentence_of(line, punctuation=punctuation) for line in text.splitlines())
    return _short([sentence for sentence in found if sentence is not None])


def _short(sentences: list[Sentence]) -> list[Sentence]:
    for sentence in sentences:
        if len(sentence) > MAX_WORDS:
            raise InputError(f"a sentence of {len(sentence)} words", remedy=f"give at most {MAX_WORDS}; one a line")
    return sentences


def analyse(shelf: Shelf, name: object, text: object, *, punctuation: bool = True) -> list[dict[str, Any]]:
    """A picture for every sentence of a text."""
    model = shelf.get(name)
    sentences = sentences_in(text, punctuation=punctuation)
    if model.kind == "pipeline":
        assert isinstance(text, str)
        is_raw = punctuation and not any("\t" in line for line in text.splitlines())
        return [_parsed(one, model) for one in (_short(model(text)) if is_raw else model.predict(sentences))]
    if model.kind == "dependency":
        return [_dependencies(sentence, shelf, model) for sentence in sentences]
    words = [sentence.forms for sentence in sentences]
    if model.kind == "constituency":
        return [_tree(own, model) for own in words]
    if model.kind == "tagger":
        found = zip(words, model.predict(words), model.marginals(words), strict=True)
        return [tag_picture(own, tags, marginals, model.labels_) for own, tags, marginals in found]
    if model.kind == "clusters":
        return [_clusters(own, model) for own in words]
    if model.kind == "hmm":
        return [_states(own, model) for own in words]
    return surprisals(shelf, name, text, punctuation=punctuation)


def surprisals(shelf: Shelf, name: object, text: object, *, punctuation: bool = True) -> list[dict[str, Any]]:
    """Surprisal of every word of a text, for models that have it."""
    model = shelf.get(name)
    if not hasattr(model, "surprisal"):
        raise InputError(f"a model of kind {model.kind} has no surprisal", remedy="choose a language model, say")
    words = [sentence.forms for sentence in sentences_in(text, punctuation=punctuation)]
    bits = model.surprisal(words)
    return [surprisal_picture(own, values) for own, values in zip(words, bits, strict=True)]


def _parsed(sentence: Sentence, model: Any) -> dict[str, Any]:
    """A sentence that a pipeline has annotated."""
    from spectragram.pipeline.model import with_tags

    parser = model.model_.parser
    marginals = None if parser is None else parser.marginals([with_tags(sentence)])[0]
    picture = dependency_picture(
        sentence, "upos", head_marginals=marginals, tag_options=tag_options(model, sentence, known=False)
    )
    return picture | {"text": str(sentence)}


def _dependencies(sentence: Sentence, shelf: Shelf, model: Any) -> dict[str, Any]:
    column = model.model_.alphabet.column
    whole = tagged(sentence, column, shelf)
    parsed = model.predict([whole])[0]
    return dependency_picture(parsed, column, head_marginals=model.marginals([whole])[0]) | {"text": str(parsed)}


def tagged(sentence: Sentence, column: str, shelf: Shelf) -> Sentence:
    """The sentence with tags where it has none, from a pipeline or a tagger; a parser needs them."""
    tags = sentence.column(column)
    if "_" not in tags:
        return sentence
    for name in shelf.names():
        model = shelf.get(name)
        if model.kind == "pipeline" and column in model.columns_:
            return model.model_.annotate([sentence], only=("upos", "xpos", "feats", "lemma"))[0]
        if model.kind == "tagger" and (model.layout_.format, model.layout_.label) == ("conllu", column):
            known = [None if tag == "_" else tag if tag in model.labels_ else None for tag in tags]
            found = model.predict([sentence.forms], fixed=[known])[0]
            kept = [new if old == "_" else old for old, new in zip(tags, found, strict=True)]
            return sentence.with_columns(**{column: kept})
    raise InputError(
        f"this parser reads tags (column {column.upper()} of CoNLL-U), and these words have none",
        remedy=f"serve a pipeline, or a tagger of {column}, beside it; or paste tagged CoNLL-U",
    )


def tag_options(model: Any, sentence: Sentence, *, known: bool = True) -> list[Options] | None:
    """Probabilities of parts of speech by a pipeline; None if it has none."""
    found = model.model_.morphology.upos_probabilities(sentence, known=known)
    return None if found is None else [options_of(row, found[0]) for row in found[1]]


def _tree(words: list[str], model: Any) -> dict[str, Any]:
    from spectragram.constituency.answers import decode

    known = model.read([words])[0]
    posteriors = model.marginals([known])[0]
    tree = decode(model.model_, posteriors, known)
    return tree_picture(tree, posteriors=posteriors, labels=model.labels_, tags=model.tags_)


def _states(words: list[str], model: Any) -> dict[str, Any]:
    """The hidden states behind a sequence of whole numbers, as tags."""
    if not hasattr(model, "emissionprob_"):
        raise InputError("this model reads vectors, which cannot be typed here", remedy="use its predict in Python")
    numbers = [plain_number(word) for word in words]
    if min(numbers) < 0:
        raise InputError("this model reads whole numbers", remedy="type numbers with spaces between them: 0 2 1")
    shares = model.predict_proba(numbers)
    names = [str(state) for state in range(shares.shape[1])]
    return tag_picture(words, [names[state] for state in model.predict(numbers)], shares, names)


def _clusters(words: list[str], model: Any) -> dict[str, Any]:
    """The path of every word; null for words that the model does not know."""
    found = model.predict([words])[0].tolist()
    paths = [None if cluster < 0 else model.cluster_paths_[cluster] for cluster in found]
    return {"kind": "clusters", "words": words, "paths": paths}
