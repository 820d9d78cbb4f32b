"""The command line of automata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from spectragram.cli.console import note, print_scores, print_table, trained, write_page
from spectragram.cli.options import (
    Best,
    Data,
    Dev,
    Fast,
    Format,
    Gold,
    Html,
    Input,
    Iterations,
    Jobs,
    Json,
    Model,
    Out,
    OutText,
    Quiet,
    Seed,
    States,
    chosen_preset,
)

if TYPE_CHECKING:
    from spectragram.automata import Automaton
    from spectragram.data.corpus import Corpus
    from spectragram.data.vocabulary import Vocabulary

FileFormat = Annotated[str, typer.Option("--format", help="Of the strings: text (one a line) or pautomac.")]
FORMATS = ("openfst", "symbols", "dot", "pautomac", "json", "svg")


def train(
    data: Data,
    out: Out,
    format: FileFormat = "auto",
    states: States = None,
    learner: Annotated[
        str,
        typer.Option(
            "--learner",
            help="auto, spectral, pivot, merge, em, spectral+em, pivot+em, merge+em, hmm, unigram, bigram or ngram.",
        ),
    ] = "auto",
    basis: Annotated[
        str,
        typer.Option(
            "--basis", help="sigma, sigma-lambda, 500: so many substrings in all, or 5.0: so many for each symbol."
        ),
    ] = "2000",
    statistic: Annotated[str, typer.Option("--statistic", help="marked, string, prefix or substring.")] = "marked",
    iterations: Iterations = 100,
    order: Annotated[int, typer.Option("--order", min=1, help="k of the learner ngram.")] = 4,
    dev: Dev = None,
    fast: Fast = False,
    best: Best = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Learn a distribution over strings: one string a line, symbols separated by blanks, or a PAutomaC file."""
    from spectragram.automata import Automaton

    preset = chosen_preset(fast, best)
    corpus = _read(data, format)
    model = Automaton(
        "auto" if states is None else states,
        learner,
        basis=_basis(basis),
        statistic=statistic,
        max_iter=iterations,
        order=order,
        preset=preset,
        random_state=seed,
        n_jobs=jobs,
        verbose=not quiet,
    )
    model.fit(corpus, dev=None if dev is None else _read(dev, format, corpus.vocabulary))
    model.save(out)
    trained(out, {name: value for name, value in model.summary_.items() if name != "parts"}, quiet=quiet)


def predict(
    model: Model,
    input: Input = "-",
    out: OutText = None,
    format: FileFormat = "auto",
    what: Annotated[
        str, typer.Option("--what", help="log-prob, prob, prefix (log-probability of the prefix), or next.")
    ] = "log-prob",
    top: Annotated[int, typer.Option("--top", min=1, help="Symbols shown by --what next.")] = 5,
    jobs: Jobs = -1,
) -> None:
    """One line per string of INPUT: its probability, or what most probably follows it."""
    import numpy as np

    from spectragram.automata import Automaton
    from spectragram.errors import InputError
    from spectragram.files import output

    loaded = Automaton.load(model).set_params(n_jobs=jobs)
    if what not in ("log-prob", "prob", "prefix", "next"):
        raise InputError(f"--what {what} is unknown", remedy="choose one of log-prob, prob, prefix, next")
    corpus = _read(input, format, loaded.vocabulary_)
    if what == "next":
        lines = _next_lines(loaded, corpus, top)
    else:
        values = loaded.prefix_log_prob(corpus) if what == "prefix" else loaded.log_prob(corpus)
        lines = [repr(float(value)) for value in (np.exp(values) if what == "prob" else values)]
    with output(out) as stream:
        stream.writelines(line + "\n" for line in lines)
    if loaded.n_negative_:
        note(f"{loaded.n_negative_} estimates were negative: scores counted as zero, states reset")


def evaluate(
    model: Model,
    gold: Gold,
    format: FileFormat = "auto",
    solution: Annotated[str | None, typer.Option("--solution", help="PAutomaC solution of GOLD.")] = None,
    json: Json = False,
    jobs: Jobs = -1,
) -> None:
    """Next-symbol error, perplexities, and the PAutomaC score where a solution is given."""
    from spectragram.automata import Automaton
    from spectragram.data.pautomac import read_pautomac_solution

    loaded = Automaton.load(model).set_params(n_jobs=jobs)
    corpus = _read(gold, format, loaded.vocabulary_)
    true = None if solution is None else read_pautomac_solution(solution)
    print_scores(loaded.evaluate(corpus, solution=true), as_json=json)


def inspect(
    model: Model,
    html: Html = None,
    strings: Annotated[
        str | None, typer.Option("--strings", help="Strings for the DFA approximation; default: sampled ones.")
    ] = None,
    states: Annotated[int, typer.Option("--states", min=1, help="States of the DFA approximation.")] = 8,
    json: Json = False,
) -> None:
    """Sizes and parts of a model, and its deterministic approximation; --html draws it."""
    from spectragram.automata import Automaton

    loaded = Automaton.load(model)
    corpus = loaded.sample(2000) if strings is None else _known_strings(strings, loaded.vocabulary_)
    dfa = loaded.to_dfa(corpus, states)
    if html is not None:
        from spectragram.plots.automata import automaton_page

        write_page(html, automaton_page(loaded, model.name, dfa))
    print_scores(loaded.summary_, as_json=json)
    if json:
        return
    parts = loaded.summary_.get("parts", [])
    if parts:
        print()
        print_table(["part", "states", "weight"], [[p["part"], p["states"], p["weight"]] for p in parts])
    words = loaded.vocabulary_.words
    rows = [[s, " ".join(_moves(dfa.target[s], dfa.counts[s], words))] for s in range(dfa.n_states)]
    print("\ndeterministic approximation: in each state, what follows (per cent) and where it leads")
    print_table(["state", "moves"], rows)


def export(
    model: Model,
    format: Format = "openfst",
    out: OutText = None,
    states: Annotated[int, typer.Option("--states", min=1, help="States of the pictures dot and svg.")] = 10,
) -> None:
    """Write the automaton as openfst (with symbols for its table), dot, pautomac, json or svg."""
    from spectragram.automata import Automaton
    from spectragram.automata.export import symbol_table, to_json, to_openfst, to_pautomac
    from spectragram.data.pautomac import write_pautomac_model
    from spectragram.errors import InputError
    from spectragram.files import output
    from spectragram.plots.automata import automaton_dot, draw_automaton, graph_of_dfa

    if format not in FORMATS:
        raise InputError(f"--format {format} is unknown", remedy=f"choose one of {', '.join(FORMATS)}")
    loaded = Automaton.load(model)
    words = loaded.vocabulary_.words
    if format == "pautomac":
        write_pautomac_model(to_pautomac(loaded.wfa_), out)
        return
    if format in ("dot", "svg"):
        graph = graph_of_dfa(loaded.to_dfa(loaded.sample(2000), states), words)
        text = automaton_dot(graph) if format == "dot" else str(draw_automaton(graph)) + "\n"
    elif format == "symbols":
        text = symbol_table(words)
    else:
        text = to_json(loaded.wfa_, words) + "\n" if format == "json" else to_openfst(loaded.wfa_, words)
    with output(out) as stream:
        stream.write(text)


def demo() -> None:
    """Learn the part-of-speech sequences of the embedded English corpus and show what comes next."""
    from spectragram.automata import Automaton
    from spectragram.data.vocabulary import END
    from spectragram.synthetic import english_tagged

    strings = [tags for _, tags in english_tagged(3000, seed=1)]
    train_part, test_part = strings[:2500], strings[2500:]
    rows = []
    for learner, preset in (("bigram", "fast"), ("spectral", "fast"), ("merge+em", "fast"), ("auto", "fast")):
        model = Automaton(learner=learner, preset=preset, n_jobs=-1).fit(train_part)
        scores = model.evaluate(test_part)
        rows.append([learner, scores["wer"], scores["perplexity_string"], model.summary_["seconds"]])
    print_table(["learner", "wrong next tag %", "perplexity per string", "seconds"], rows)
    prefix = list(test_part[0][:3])
    chances = model.predict_next([prefix])[0]
    best = sorted(zip(chances, [*model.vocabulary_.words, END], strict=True), reverse=True)[:4]
    note("")
    print(f"after {' '.join(prefix)}: " + ", ".join(f"{symbol} {chance:.2f}" for chance, symbol in best))
    print("sampled: " + " ".join(model.sample(1)[0]))


def _read(source: str, format: str, vocabulary: Vocabulary | None = None) -> Corpus:
    """Strings from text or PAutomaC files; 'auto': by name and first lines. With a vocabulary, over that."""
    from spectragram.data.pautomac import looks_like_pautomac, read_pautomac
    from spectragram.data.text import read_text
    from spectragram.errors import InputError

    if format not in ("auto", "text", "pautomac"):
        raise InputError(f"--format {format} is unknown", remedy="choose text or pautomac")
    if format == "auto" and (".pautomac" in source or (source != "-" and looks_like_pautomac(source))):
        format = "pautomac"
    if format == "pautomac":
        return read_pautomac(source)
    return read_text(source, vocabulary, unknown=None, keep_empty=True)


def _basis(text: str) -> str | int | float:
    if text in ("sigma", "sigma-lambda"):
        return text
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        from spectragram.errors import InputError

        raise InputError(f"--basis {text}", remedy="give sigma, sigma-lambda, a number, or a factor like 5.0") from None


def _next_lines(model: Automaton, corpus: Corpus, top: int) -> list[str]:
    from spectragram.data.vocabulary import END

    names = [*model.vocabulary_.words, END]
    lines = []
    for chances in model.predict_next(corpus):
        best = (-chances).argsort(kind="stable")[:top]
        lines.append(" ".join(f"{names[i]}:{chances[i]:.4g}" for i in best))
    return lines


def _moves(target, counts, words) -> list[str]:  # type: ignore[no-untyped-def]
    """The frequent moves of one state, like NN 40 ->3, and how often strings end."""
    total = max(counts.sum(), 1e-300)
    order = (-counts).argsort(kind="stable")[:6]
    shown = []
    for s in order:
        if counts[s] / total >= 0.02:
            name = f"{words[s]}->{target[s]}" if s < len(words) else "end"
            shown.append(f"{name} {100 * counts[s] / total:.0f}%")
    return shown


def _known_strings(path: str, vocabulary: Vocabulary) -> Corpus:
    """Strings to look at, of which the model must know something."""
    from spectragram.errors import InputError

    corpus = _read(path, "auto", vocabulary)
    if not (corpus.tokens >= 0).any():
        raise InputError("holds no symbol of the model", path=path, remedy="give strings like those it learned from")
    return corpus
