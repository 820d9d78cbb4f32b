"""The command line of language models."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from spectragram.cli.console import note, print_scores, print_table, remark_unknown, trained, write_page
from spectragram.cli.options import (
    ITERATIONS,
    Data,
    Dev,
    Format,
    Gold,
    Html,
    Input,
    Jobs,
    Json,
    MinCount,
    Model,
    Out,
    OutText,
    Quiet,
    Seed,
)

Unknown = Annotated[
    str, typer.Option("--unknown", help="Words outside the vocabulary: 'ignore' (as in the paper) or 'score'.")
]


def train(
    data: Data,
    out: Out,
    states: Annotated[
        int | None, typer.Option("--states", min=1, help="Hidden classes [128, fewer for few words].")
    ] = None,
    learner: Annotated[str, typer.Option("--learner", help="mixed, em, pivot, pivot+em or kn.")] = "mixed",
    dev: Dev = None,
    order: Annotated[int, typer.Option("--order", min=1, max=3, help="Longest n-gram of the Kneser-Ney model.")] = 3,
    prior: Annotated[float, typer.Option("--prior", min=0, help="Pull of rare histories to the class mix.")] = 10.0,
    iterations: Annotated[int, ITERATIONS] = 30,
    min_count: MinCount = 2,
    boundaries: Annotated[bool, typer.Option("--boundaries", help="Predict the ends of lines too.")] = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Learn to predict the next word of a text, one sentence a line."""
    from spectragram.data.text import read_text
    from spectragram.lm import LanguageModel

    model = LanguageModel(
        states,
        learner,
        order=order,
        prior=prior,
        max_iter=iterations,
        min_count=min_count,
        boundaries=boundaries,
        random_state=seed,
        n_jobs=jobs,
        verbose=not quiet,
    )
    model.fit(read_text(data), dev=None if dev is None else read_text(dev))
    model.save(out)
    trained(out, model.summary_, quiet=quiet)


def predict(
    model: Model,
    input: Input = "-",
    out: OutText = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="One token a line with its surprisal in bits.")] = False,
) -> None:
    """Log-probability of every line: log-prob TAB words TAB unknown words; each line on its own."""
    from spectragram.data.vocabulary import END
    from spectragram.files import output, read_lines
    from spectragram.lm import LanguageModel

    loaded = LanguageModel.load(model)
    known = loaded.vocabulary_
    with output(out) as stream:
        for _, line in read_lines(input):
            words = line.split()
            surprisal = loaded.surprisal([words])[0]
            if tokens:
                shown = [*words, END] if loaded.boundaries else words
                stream.writelines(f"{word}\t{bits:.4f}\n" for word, bits in zip(shown, surprisal, strict=True))
                stream.write("\n")
            else:
                unknown = sum(word not in known for word in words)
                # 0.0 - x: a line without words has log-probability 0, not -0.
                stream.write(f"{0.0 - surprisal.sum() * math.log(2):.6f}\t{len(words)}\t{unknown}\n")


def evaluate(model: Model, gold: Gold, unknown: Unknown = "ignore", json: Json = False) -> None:
    """Perplexity per word of a text."""
    from spectragram.data.text import read_text
    from spectragram.lm import LanguageModel

    loaded = LanguageModel.load(model)
    corpus = read_text(gold, loaded.vocabulary_)
    scores = loaded.evaluate(corpus, unknown=unknown)
    remark_unknown(scores["unknown"], corpus.n_tokens)
    print_scores(scores, as_json=json)


def inspect(
    model: Model,
    html: Html = None,
    words: Annotated[int, typer.Option("--words", min=1, help="Most probable words shown per class.")] = 10,
    json: Json = False,
) -> None:
    """Sizes, and the most probable words of every hidden class."""
    from spectragram.lm import LanguageModel
    from spectragram.lm.inspection import class_rows

    loaded = LanguageModel.load(model)
    if html is not None:
        from spectragram.plots.lm import lm_page

        write_page(html, lm_page(loaded, model.name, words))
    print_scores(loaded.summary_, as_json=json)
    if json:
        return
    for distance, rows in class_rows(loaded, words).items():
        print(f"\nclasses of the word {distance} back")
        print_table(["class", "weight", "words"], rows)


def export(model: Model, format: Format = "arpa", out: OutText = None) -> None:
    """Write the nearest n-gram form: --format arpa."""
    from spectragram.errors import InputError
    from spectragram.files import output
    from spectragram.lm import LanguageModel
    from spectragram.lm.arpa import write_arpa

    if format != "arpa":
        raise InputError(f"--format {format} is unknown", remedy="choose arpa")
    loaded = LanguageModel.load(model)
    with output(out) as stream:
        write_arpa(loaded.model_, loaded.listed_ngrams(), loaded.vocabulary_, stream)


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
