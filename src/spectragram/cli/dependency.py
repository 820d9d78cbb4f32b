"""The command line of dependency parsers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectragram.cli import options as given
from spectragram.cli.console import note, print_scores, print_table, write_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy as np

    from spectragram.data import Sentence
    from spectragram.data.confidence import ArcConfidence

SHOWN_TREES = 5
"""Trees of a file that a page shows; more would make it slow to scroll."""
SHOWN_PROBABILITY = 0.01
"""Heads below this probability are not listed, so that lines stay readable."""

Taggers = Annotated[
    list[str] | None,
    typer.Option("--tagger", help="A tagger model that replaces the tags; may be given for XPOS and for UPOS."),
]


def train(
    states: given.States = None,
    learner: Annotated[str | None, typer.Option("--learner", help="spectral+em, em, spectral, det+f or det.")] = None,
    factors: Annotated[
        bool | None,
        typer.Option("--factors/--no-factors", help="Surface factors beside the automata; without: the paper's."),
    ] = None,
    words: Annotated[bool, typer.Option("--words/--tags-only", help="Whether factors look at words.")] = True,
    clusters: given.Clusters = None,
    raw: Annotated[
        str | None, typer.Option("--raw", help=given.RAW_HELP + " CoNLL-U with tags, or words with --tagger.")
    ] = None,
    tags: Annotated[str, typer.Option("--tags", help="The column of tags: auto, xpos or upos.")] = "auto",
    crossing: Annotated[
        bool | None, typer.Option("--crossing/--projective", help="Restore arcs that cross others, or never draw any.")
    ] = None,
    iterations: given.Iterations = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=0, help="Passes over the trees for the factors, at most.")
    ] = None,
    models: given.Models = None,
    basis: Annotated[
        str | None, typer.Option("--basis", help="Spectral: sigma-lambda, or the number of substrings for each symbol.")
    ] = None,
    min_mass: Annotated[
        float | None,
        typer.Option("--min-mass", min=0.0, help="Spectral: drop states below this share of singular values."),
    ] = None,
    tagger: Taggers = None,
) -> given.Plan:
    """Learn from trees in CoNLL-U."""
    from spectragram.data.inputs import as_dependencies

    parameters: dict[str, Any] = {
        "n_states": states,
        "learner": learner,
        "factors": factors,
        "words": words,
        "tag_column": tags,
        "crossing": crossing,
    }
    parameters |= {"clusters": clusters, "max_iter": iterations, "n_epochs": epochs, "n_models": models}
    parameters |= {"basis": None if basis is None else _number_or_name(basis), "min_mass": min_mass}
    fitting = {} if raw is None else {"raw": _tagged(_read(raw, "auto", tagger), tagger)}
    if not tagger:
        return given.Plan(parameters, fitting=fitting)
    return given.Plan(parameters, read=lambda _, source: _tagged(as_dependencies(source), tagger), fitting=fitting)


def predict(
    model: given.Model,
    input: given.Input = "-",
    out: given.OutText = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add each word's probable heads to MISC: Heads=3:0.91,0:0.07.")
    ] = False,
    confidence: given.Confidence = False,
    kbest: given.Kbest = 0,
    constrained: given.Constrained = False,
    tagger: Taggers = None,
    form: Annotated[
        str,
        typer.Option("--input", help="conllu, words (between spaces, a sentence a line; needs --tagger) or auto."),
    ] = "auto",
    jobs: given.Jobs = -1,
) -> None:
    """Fill in heads and relations; everything else is kept.

    With --constrained, heads and relations that are not _ are kept, NotHead=3,5 in MISC rules out heads, and the rest
    is parsed around them. --confidence adds Conf=0.93 to MISC, and the probability of the tree as a comment.
    """
    from spectragram.data import write_conllu
    from spectragram.dependency import DependencyParser

    what = given.only_one({"--marginals": marginals, "--confidence": confidence, "--kbest": kbest > 0})
    parser = DependencyParser.load(model).set_params(n_jobs=jobs)
    sentences = _tagged(_read(input, form, tagger), tagger)
    if what == "--confidence":
        write_conllu(map(with_confidence, parser.confidence(sentences, constrained=constrained)), out)
        return
    if what == "--kbest":
        write_conllu(ranked_trees(parser.kbest(sentences, kbest, constrained=constrained)), out)
        return
    parsed = parser.predict(sentences, constrained=constrained)
    shown: list[Sentence] = list(parsed)
    if marginals:
        rows = parser.marginals(sentences, constrained=constrained)
        shown = [_with_marginals(*pair) for pair in zip(parsed, rows, strict=True)]
    write_conllu(shown, out)
    _remark(parsed.diagnostics)


def evaluate(
    model: given.Model, gold: given.Gold, tagger: Taggers = None, json: given.Json = False, jobs: given.Jobs = -1
) -> None:
    """Attachment scores with and without punctuation and relations, exact match, speed."""
    from spectragram.data.inputs import as_dependencies
    from spectragram.dependency import DependencyParser

    parser = DependencyParser.load(model).set_params(n_jobs=jobs)
    sentences = as_dependencies(gold, check_tree=True)
    tagged = _tagged(sentences, tagger)
    parser.predict(tagged[:1])  # so that the speed does not include loading compiled code
    print_scores(parser.evaluate(sentences, tagged), as_json=json)


def inspect(
    model: given.Model,
    html: given.Html = None,
    head: Annotated[str | None, typer.Option("--head", help="Show the automaton of this tag.")] = None,
    direction: Annotated[str, typer.Option("--direction", help="left or right.")] = "left",
    states: Annotated[int, typer.Option("--states", min=1, help="States of its deterministic approximation.")] = 10,
    text: Annotated[str | None, typer.Option("--parse", help="CoNLL-U file whose first trees are drawn.")] = None,
    json: given.Json = False,
) -> None:
    """Sizes; which modifiers frequent tags take; with --head the automaton of one of them."""
    from spectragram.data.inputs import as_dependencies
    from spectragram.dependency import DependencyParser
    from spectragram.dependency.inspection import frequent_modifiers, head_dfa
    from spectragram.errors import InputError

    if text is not None and html is None:
        raise InputError("--parse draws trees on a page", remedy="give --html FILE as well")
    parser = DependencyParser.load(model)
    if html is not None:
        from spectragram.plots.dependency import dependency_page

        drawn = [] if text is None else as_dependencies(text, may_be_empty=True)[:SHOWN_TREES]
        write_page(html, dependency_page(parser, model.name, head, direction, states, drawn))
    print_scores(parser.summary_, as_json=json)
    if json:
        return
    print()
    if head is None:
        print_table(["head", "direction", "none", "frequent first modifiers"], frequent_modifiers(parser))
    else:
        found = head_dfa(parser, head, direction, states)
        print_table(["state", "stop", "on", "goes to", "times"], found.rows())


def demo() -> None:
    """Parse the embedded English corpus with every learner, and show a tree."""
    from spectragram.dependency import DependencyParser
    from spectragram.synthetic import english_dependencies

    trees = english_dependencies(900, seed=1)
    training, test = trees[:700], trees[700:]
    rows = []
    for learner, factors in (
        ("det", False),
        ("det+f", False),
        ("spectral", False),
        ("spectral+em", False),
        ("spectral+em", True),
    ):
        parser = DependencyParser(6, learner, factors=factors).fit(training)
        scores = parser.evaluate(test)
        name = learner + (" with factors" if factors else "")
        rows.append([name, scores["uas"], scores["las"], scores["exact"], parser.summary_["seconds"]])
    print_table(["learner", "UAS", "LAS", "exact", "seconds"], rows)
    note("")
    parsed = parser.predict([max(test, key=len)])[0]
    table = zip(
        range(1, len(parsed) + 1), parsed.forms, parsed.xpos, parsed.heads.tolist(), parsed.deprels, strict=True
    )
    print_table(["", "word", "tag", "head", "relation"], [list(row) for row in table])


def _number_or_name(text: str) -> str | float:
    """``--basis`` is a number or a name; whether there is such a basis, the parser says."""
    try:
        return float(text)
    except ValueError:
        return text


def _read(source: str, form: str, taggers: list[str] | None) -> list[Sentence]:
    """Sentences of CoNLL-U, or of plain lines of words, which a tagger will tag."""
    from spectragram.data.conllu import sentences_of_words
    from spectragram.data.inputs import as_dependencies
    from spectragram.data.labelled import looks_like_conllu
    from spectragram.errors import InputError
    from spectragram.files import read_lines

    if form not in ("auto", "conllu", "words"):
        raise InputError(f"--input {form} is unknown", remedy="choose one of auto, conllu, words")
    if form == "auto":
        is_words = bool(taggers) and str(source) != "-" and not looks_like_conllu(source)
        form = "words" if is_words else "conllu"
    if form == "conllu":
        return as_dependencies(source, may_be_empty=True)
    if not taggers:
        raise InputError("words without tags", path=source, remedy="tag them: --tagger MODEL, or train a pipeline")
    return list(sentences_of_words(read_lines(source)))


def _tagged(sentences: list[Sentence], taggers: list[str] | None) -> list[Sentence]:
    """The sentences with the tags of tagger models, each in the column that it was trained on, and no other tags."""
    if not taggers or not sentences:
        return sentences
    from spectragram.errors import InputError
    from spectragram.tagging import Tagger

    columns = {name: [["_"] * len(sentence) for sentence in sentences] for name in ("upos", "xpos")}
    for path in taggers:
        model = Tagger.load(path)
        column = model.layout_.label
        if column not in columns:
            raise InputError(
                f"--tagger {path} labels column {column!r} of another format",
                remedy="train it on CoNLL-U: spectragram train tagger TRAIN.conllu --label xpos",
            )
        columns[column] = model.predict([sentence.forms for sentence in sentences])
    return [
        sentence.with_columns(upos=upos, xpos=xpos)
        for sentence, upos, xpos in zip(sentences, columns["upos"], columns["xpos"], strict=True)
    ]


def _with_marginals(sentence: Sentence, marginals: np.ndarray) -> Sentence:
    """Heads of at least one per cent, most probable first, in the column MISC."""
    texts = []
    for row in marginals:
        order = (-row).argsort(kind="stable")
        texts.append(",".join(f"{i}:{row[i]:.3f}" for i in order if row[i] >= SHOWN_PROBABILITY))
    return _with_misc(sentence, "Heads", texts)


def with_confidence(found: ArcConfidence) -> Sentence:
    """The sentence with the probability of each word's head and relation in MISC, and that of the tree on top."""
    texts = [f"{head * relation:.3f}" for head, relation in zip(found.heads, found.relations, strict=True)]
    shown = _with_misc(found.sentence, "Conf", texts)
    return dataclasses.replace(shown, comments=(*shown.comments, f"# tree_probability = {found.tree:.4f}"))


def ranked_trees(found: Iterable[list[tuple[Sentence, float]]]) -> Iterator[Sentence]:
    """The trees of all lists, each with its rank and log-probability as comments."""
    for trees in found:
        for rank, (sentence, value) in enumerate(trees, 1):
            notes = (f"# rank = {rank}", f"# log_probability = {value:.4f}")
            yield dataclasses.replace(sentence, comments=(*sentence.comments, *notes))


def _with_misc(sentence: Sentence, name: str, texts: list[str]) -> Sentence:
    """The sentence with an attribute added to the column MISC of every word, in place of an old one."""
    misc = []
    for old, text in zip(sentence.column("misc"), texts, strict=True):
        others = [part for part in old.split("|") if part != "_" and not part.startswith(name + "=")]
        misc.append("|".join([*others, f"{name}={text}"]))
    return sentence.with_columns(misc=misc)


def _remark(diagnostics: Mapping[str, int]) -> None:
    if diagnostics["fallbacks"]:
        count = diagnostics["fallbacks"]
        note(f"{count} sentences were parsed by the DET+F automata: their estimates were not positive")
    if diagnostics.get("split"):
        note(f"{diagnostics['split']} very long sentences were parsed in pieces")
    if diagnostics["negative"]:
        note(f"{diagnostics['negative']} negative marginals were counted as zero")
