"""The command line of automata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectragram.cli import options as given
from spectragram.cli.console import note, print_scores, print_table, write_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spectragram.automata import Automaton
    from spectragram.data.inputs import Strings

InputFormat = Annotated[
    str, typer.Option("--input-format", help="Format of the strings: text (one a line), pautomac, or auto.")
]
FORMATS = ("openfst", "symbols", "dot", "pautomac", "json", "svg")


def train(
    input_format: InputFormat = "auto",
    states: given.States = None,
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner",
            help="auto, spectral, pivot, merge, em, spectral+em, pivot+em, merge+em, hmm, unigram, bigram or ngram.",
        ),
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(
            "--basis",
            help="sigma (single symbols), sigma-lambda, 500 (number of substrings), or 5.0 (number for each symbol).",
        ),
    ] = None,
    statistic: Annotated[str | None, typer.Option("--statistic", help="marked, string, prefix or substring.")] = None,
    prior: Annotated[
        float | None, typer.Option("--prior", min=0.0, help="Strength of EM's prior, in events a state.")
    ] = None,
    iterations: given.Iterations = None,
    order: Annotated[int, typer.Option("--order", min=1, help="k of the learner ngram.")] = 4,
) -> given.Plan:
    """Learn a distribution over strings: one string a line, symbols separated by blanks, or a PAutomaC file."""
    parameters: dict[str, Any] = {
        "n_states": states,
        "learner": learner,
        "basis": None if basis is None else _basis(basis),
        "statistic": statistic,
    }
    parameters |= {"prior": prior, "max_iter": iterations, "order": order}
    return given.Plan(parameters, read=lambda _, source: _strings(source, input_format))


def predict(
    model: given.Model,
    input: given.Input = "-",
    out: given.OutText = None,
    input_format: InputFormat = "auto",
    prob: Annotated[bool, typer.Option("--prob", help="Probabilities instead of their logarithms.")] = False,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Log-probability that a string begins with the first 0, 1, ... symbols.")
    ] = False,
    surprisal: Annotated[
        bool, typer.Option("--surprisal", help="Surprisal of each symbol and of the end, in bits.")
    ] = False,
    next: Annotated[bool, typer.Option("--next", help="What follows the string, most probable first.")] = False,
    top: Annotated[int, typer.Option("--top", min=1, help="Symbols shown by --next.")] = 5,
    jobs: given.Jobs = -1,
) -> None:
    """One line for each string of INPUT: by default its log-probability."""
    from spectragram.automata import Automaton
    from spectragram.files import output

    what = given.only_one({"--prob": prob, "--prefix": prefix, "--surprisal": surprisal, "--next": next})
    loaded = Automaton.load(model).set_params(n_jobs=jobs)
    lines = list(_lines(loaded, _strings(input, input_format), what, top))
    with output(out) as stream:
        stream.writelines(line + "\n" for line in lines)


def evaluate(
    model: given.Model,
    gold: given.Gold,
    input_format: InputFormat = "auto",
    solution: Annotated[str | None, typer.Option("--solution", help="PAutomaC solution of GOLD.")] = None,
    json: given.Json = False,
    jobs: given.Jobs = -1,
) -> None:
    """Next-symbol error, perplexities, and the PAutomaC score if a solution is given."""
    from spectragram.automata import Automaton

    loaded = Automaton.load(model).set_params(n_jobs=jobs)
    print_scores(loaded.evaluate(_strings(gold, input_format), solution=solution), as_json=json)


def inspect(
    model: given.Model,
    html: given.Html = None,
    strings: Annotated[
        str | None, typer.Option("--strings", help="Strings for the deterministic approximation; default: a sample.")
    ] = None,
    states: Annotated[int, typer.Option("--states", min=1, help="States of the deterministic approximation.")] = 8,
    json: given.Json = False,
) -> None:
    """Sizes and parts of a model, and its deterministic approximation; --html draws it."""
    from spectragram.automata import Automaton

    loaded = Automaton.load(model)
    dfa = loaded.to_dfa(strings, states)
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
    print("\ndeterministic approximation: what follows in each state, and where it leads")
    print_table(["state", "moves"], [[s, " ".join(dfa.moves_of(s))] for s in range(dfa.n_states)])


def export(
    model: given.Model,
    format: given.Format = "openfst",
    out: given.OutText = None,
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
        graph = graph_of_dfa(loaded.to_dfa(None, states))
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
    from spectragram.synthetic import english_tagged

    strings = [tags for _, tags in english_tagged(3000, seed=1)]
    train_part, test_part = strings[:2500], strings[2500:]
    rows = []
    for learner in ("bigram", "spectral", "merge+em", "auto"):
        model = Automaton(learner=learner, preset="fast").fit(train_part)
        scores = model.evaluate(test_part)
        rows.append([learner, scores["wer"], scores["perplexity_string"], model.summary_["seconds"]])
    print_table(["learner", "wrong next tag %", "perplexity per string", "seconds"], rows)
    prefix = list(test_part[0][:3])
    note("")
    print(f"after {' '.join(prefix)}: " + "".join(_lines(model, [prefix], "--next", 4)))
    print("sampled: " + " ".join(model.sample(1)[0]))


def _strings(source: str, input_format: str) -> Strings:
    """What the estimator reads: the path, which it recognises by itself, or strings of the format that was given."""
    if input_format == "auto":
        return source
    from spectragram.data.inputs import as_corpus

    return as_corpus(source, format=input_format, keep_empty=True)


def _basis(text: str) -> str | int | float:
    """A number if it is one; the estimator refuses other texts than the names of bases."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _lines(model: Automaton, strings: Strings, what: str, top: int) -> Iterator[str]:
    """One line for each string."""
    import numpy as np

    if what in ("--prefix", "--surprisal"):
        found = model.prefix_log_prob(strings) if what == "--prefix" else model.surprisal(strings)
        yield from (" ".join(f"{value:.6g}" for value in values) for values in found)
    elif what == "--next":
        names = model.outcomes_
        for chances in model.next(strings):
            best = (-chances).argsort(kind="stable")[:top]
            yield " ".join(f"{names[i]}:{chances[i]:.4g}" for i in best)
    else:
        values = model.log_prob(strings)
        # Ten digits: further ones depend on the order in which a machine adds.
        yield from (f"{value:.10g}" for value in (np.exp(values) if what == "--prob" else values))
