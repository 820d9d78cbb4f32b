"""The command line of hidden Markov models."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spectragram.cli import options as given
from spectragram.cli.console import print_scores, print_table, write_page

__all__ = ["demo", "evaluate", "inspect", "predict", "train"]


def train(
    states: given.States = None,
    learner: Annotated[str, typer.Option("--learner", help="spectral+em, spectral or em.")] = "spectral+em",
    emissions: Annotated[
        str, typer.Option("--emissions", help="categorical, gaussian, or auto: whole numbers are symbols.")
    ] = "auto",
    covariance: Annotated[str, typer.Option("--covariance", help="Of Gaussian emissions: diag or full.")] = "diag",
    n_symbols: Annotated[
        int | None, typer.Option("--n-symbols", min=1, help="Size of the alphabet [what DATA shows].")
    ] = None,
    prior: Annotated[float, typer.Option("--prior", min=0.0, help="Events added in each state.")] = 0.1,
    tolerance: Annotated[
        float, typer.Option("--tolerance", min=0.0, help="EM stops if an observation gains less log-likelihood.")
    ] = 1e-6,
    iterations: given.Iterations = None,
) -> given.Plan:
    """Learn from sequences of whole numbers, one a line, or of vectors, one a line and a blank line after each."""
    parameters: dict[str, Any] = {"n_states": states, "learner": learner, "emissions": emissions}
    parameters |= {"covariance": covariance, "n_symbols": n_symbols, "prior": prior, "tolerance": tolerance}
    return given.Plan(parameters | {"max_iter": iterations})


def predict(
    model: given.Model,
    input: given.Input = "-",
    out: given.OutText = None,
    prob: Annotated[bool, typer.Option("--prob", help="Log-probability of each sequence instead.")] = False,
) -> None:
    """One line for each sequence of INPUT: its most probable states."""
    from spectragram.files import output
    from spectragram.hmm import HMM

    loaded = HMM.load(model)
    if prob:
        # Ten digits: further ones depend on the order in which a machine adds.
        lines = [f"{value:.10g}" for value in loaded.log_prob(input)]
    else:
        lines = [" ".join(map(str, states.tolist())) for states in loaded.predict(input)]
    with output(out) as stream:
        stream.writelines(line + "\n" for line in lines)


def evaluate(model: given.Model, gold: given.Gold, json: given.Json = False) -> None:
    """Log-likelihood of sequences, in all and for each observation."""
    from spectragram.hmm import HMM

    print_scores(HMM.load(model).evaluate(gold), as_json=json)


def inspect(model: given.Model, html: given.Html = None, json: given.Json = False) -> None:
    """Sizes, and what every state emits and where it leads."""
    from spectragram.hmm import HMM
    from spectragram.hmm.inspection import state_rows

    loaded = HMM.load(model)
    if html is not None:
        from spectragram.plots.hmm import hmm_page

        write_page(html, hmm_page(loaded, model.name))
    print_scores(loaded.summary_, as_json=json)
    if json:
        return
    print()
    print_table(*state_rows(loaded.model_))


def demo() -> None:
    """Find the fair and the loaded die behind a sequence of throws."""
    from spectragram.hmm import HMM
    from spectragram.hmm.inspection import state_rows

    fair, loaded = [1 / 6] * 6, [0.1] * 5 + [0.5]
    casino = HMM.from_parameters([0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], emissionprob=[fair, loaded])
    throws, states = casino.sample(5000, random_state=1)
    found = HMM(2).fit(throws)
    guessed = found.predict(throws)
    hits = float((guessed == states).mean())
    print(f"the die in use was found for {100 * max(hits, 1 - hits):.1f} % of 5000 throws")
    print_table(*state_rows(found.model_))
