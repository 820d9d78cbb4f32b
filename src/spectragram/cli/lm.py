"""The command line of language models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectragram.cli import options as given
from spectragram.cli.console import note, print_scores, print_table, remark_unknown, write_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spectragram.lm import LanguageModel

Unknown = Annotated[
    str, typer.Option("--unknown", help="Words outside the vocabulary: 'ignore' (as in the paper), 'score' or 'spell'.")
]


Text = Annotated[
    str, typer.Argument(metavar="DATA", help="Text, one sentence a line, plain or .gz; - is standard input; or ARPA.")
]


def train(
    data: Text,
    out: given.Out,
    states: Annotated[
        int | None, typer.Option("--states", min=1, help="Hidden classes [128, fewer for few words].")
    ] = None,
    learner: Annotated[str | None, typer.Option("--learner", help="mixed, em, pivot, pivot+em or kn.")] = None,
    order: Annotated[
        int, typer.Option("--order", min=1, max=6, help="Length of the longest n-gram of the Kneser-Ney model.")
    ] = 3,
    prior: Annotated[
        float | None, typer.Option("--prior", min=0, help="Strength of the class mix in rare histories, in words.")
    ] = None,
    start_shape: Annotated[
        float | None, typer.Option("--start-shape", help="How even the random start of learner em is.")
    ] = None,
    iterations: given.Iterations = None,
    min_count: given.MinCount = 2,
    boundaries: Annotated[
        bool, typer.Option("--boundaries", help="Treat each line as a sentence and predict its end too.")
    ] = False,
    memory: given.Memory = None,
    resume: given.Resume = False,
) -> given.Plan:
    """Learn to predict the next word of a text, one sentence a line; or turn an ARPA file into a model."""
    from spectragram.lm.arpa_reading import is_arpa

    if is_arpa(data):
        return given.Plan({}, instead=_read_arpa)
    parameters: dict[str, Any] = {
        "n_states": states,
        "learner": learner,
        "order": order,
        "prior": prior,
        "start_shape": start_shape,
    }
    parameters |= {"max_iter": iterations, "min_count": min_count, "boundaries": boundaries, "memory": memory}
    return given.Plan(parameters, fitting={"checkpoint": given.unfinished(out, resume)})


def _read_arpa(source: Any, jobs: int, verbose: bool) -> LanguageModel:
    """The model of an ARPA file, which no other option changes."""
    from spectragram.lm import LanguageModel

    return LanguageModel.from_arpa(source)


def predict(
    model: given.Model,
    input: given.Input = "-",
    out: given.OutText = None,
    surprisal: Annotated[
        bool, typer.Option("--surprisal", help="One word a line with its surprisal in bits; a blank line ends each.")
    ] = False,
    next: Annotated[bool, typer.Option("--next", help="The most probable words after each line.")] = False,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Log-probability of every prefix of each line, the empty one first.")
    ] = False,
    top: Annotated[int, typer.Option("--top", min=1, help="Words shown by --next.")] = 5,
) -> None:
    """Log-probability of every line: log-prob TAB words TAB unknown words; each line on its own."""
    from spectragram.data.inputs import as_word_lists
    from spectragram.errors import InputError
    from spectragram.files import output
    from spectragram.lm import LanguageModel

    if surprisal + next + prefix > 1:
        raise InputError("--surprisal, --next and --prefix exclude one another", remedy="give one of them")
    loaded = LanguageModel.load(model)
    lines = as_word_lists(input, keep_empty=True)
    if surprisal:
        answers = _surprisal_lines(loaded, lines)
    elif next:
        answers = _next_lines(loaded, lines, top)
    elif prefix:
        answers = (" ".join(f"{value:.6f}" for value in values) for values in loaded.prefix_log_prob(lines))
    else:
        answers = _log_prob_lines(loaded, lines)
    with output(out) as stream:
        stream.writelines(answer + "\n" for answer in answers)


def _log_prob_lines(model: LanguageModel, lines: list[list[str]]) -> Iterator[str]:
    for words, log_prob in zip(lines, model.log_prob(lines), strict=True):
        unknown = sum(word not in model.vocabulary_ for word in words)
        yield f"{log_prob:.6f}\t{len(words)}\t{unknown}"


def _surprisal_lines(model: LanguageModel, lines: list[list[str]]) -> Iterator[str]:
    from spectragram.data.corpus import END

    for words, surprisal in zip(lines, model.surprisal(lines), strict=True):
        # With boundaries the end of the sentence has a surprisal too.
        yield "".join(f"{word}\t{bits:.4f}\n" for word, bits in zip([*words, END], surprisal, strict=False))


def _next_lines(model: LanguageModel, lines: list[list[str]], top: int) -> Iterator[str]:
    for line in lines:
        chances = model.next([line])[0]
        best = (-chances).argsort(kind="stable")[:top]
        yield " ".join(f"{model.vocabulary_.words[i]}:{chances[i]:.4g}" for i in best)


def evaluate(model: given.Model, gold: given.Gold, unknown: Unknown = "ignore", json: given.Json = False) -> None:
    """Perplexity per word of a text."""
    from spectragram.lm import LanguageModel

    scores = LanguageModel.load(model).evaluate(gold, unknown=unknown)
    remark_unknown(scores["unknown"], scores["tokens"])
    print_scores(scores, as_json=json)


def inspect(
    model: given.Model,
    html: given.Html = None,
    words: Annotated[int, typer.Option("--words", min=1, help="Most probable words shown per class.")] = 10,
    sentence: Annotated[str, typer.Option("--sentence", help="With --html, its surprisal word by word.")] = "",
    json: given.Json = False,
) -> None:
    """Sizes, and the most probable words of every hidden class."""
    from spectragram.lm import LanguageModel
    from spectragram.lm.inspection import class_rows

    loaded = LanguageModel.load(model)
    if html is not None:
        from spectragram.plots.lm import lm_page

        write_page(html, lm_page(loaded, model.name, words, sentence))
    print_scores(loaded.summary_, as_json=json)
    if json:
        return
    for title, rows in class_rows(loaded.model_, words).items():
        print(f"\n{title}")
        print_table(["class", "weight", "words"], rows)


def export(model: given.Model, format: given.Format = "arpa", out: given.OutText = None) -> None:
    """Write the nearest n-gram form: --format arpa."""
    from spectragram.errors import InputError
    from spectragram.files import output
    from spectragram.lm import LanguageModel
    from spectragram.lm.arpa import write_arpa

    if format != "arpa":
        raise InputError(f"--format {format} is unknown", remedy="choose arpa")
    loaded = LanguageModel.load(model)
    with output(out) as stream:
        write_arpa(loaded.model_, stream)


def demo() -> None:
    """Learn from the embedded English corpus and show what comes next."""
    from spectragram.lm import LanguageModel
    from spectragram.synthetic import english_text

    lines = english_text(6000, seed=1)
    train, test = lines[:5000], lines[5000:]
    rows = []
    for learner in ("kn", "em", "pivot+em", "mixed"):
        model = LanguageModel(16, learner, boundaries=True).fit(train)
        rows.append([learner, model.perplexity(test), model.summary_["seconds"]])
    print_table(["learner", "perplexity", "seconds"], rows)
    sentence = test[0]
    bits = model.surprisal([sentence])[0]
    note("")
    print("surprisal (bits): " + "  ".join(f"{word} {b:.1f}" for word, b in zip(sentence, bits, strict=False)))
    print("sampled: " + " ".join(model.sample(1)[0]))
