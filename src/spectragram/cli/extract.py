"""``extract``: the automaton of a command that answers line by line."""

from __future__ import annotations

import subprocess
from types import TracebackType
from typing import Annotated, Self

import typer

from spectragram.cli import options as given
from spectragram.cli.console import note, trained
from spectragram.errors import InputError


class LineCommand:
    """A running command that is sent one line for each string and answers each with a line of numbers."""

    def __init__(self, command: list[str]) -> None:
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=1,
                encoding="utf-8",
                errors="backslashreplace",  # what is not text is shown as it is in the message that refuses it
            )
        except OSError as trouble:
            raise InputError(
                f"{command[0]!r} cannot be run ({trouble.strerror})", remedy="give a command after --"
            ) from None
        self.n_answers = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.communicate()

    def __call__(self, string: tuple[str, ...]) -> list[float]:
        """The numbers that the command answers a string with."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            print(" ".join(string), file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise InputError(
                f"the command ended after {self.n_answers} answers",
                remedy="it must answer every line, also an empty one, with a line, and flush it",
            )
        self.n_answers += 1
        try:
            return [float(number) for number in answer.split()]
        except ValueError:
            shown = answer.strip()[:40]
            raise InputError(
                f"the command answered {shown!r} to {' '.join(string)!r}", remedy="it must answer with numbers"
            ) from None


def extract(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="What answers, with its arguments.")],
    alphabet: Annotated[str, typer.Option("--alphabet", help='The symbols, e.g. "a b c".')],
    out: given.Out,
    next: Annotated[
        bool, typer.Option("--next", help="Answers are the probabilities of every symbol and, last, of the end.")
    ] = False,
    states: given.States = None,
    queries: Annotated[int, typer.Option("--queries", min=1, help="Most strings to ask for.")] = 100_000,
    tolerance: Annotated[
        float, typer.Option("--tolerance", min=0.0, help="Singular values below this share are noise.")
    ] = 1e-8,
    compared: Annotated[int, typer.Option("--compared", min=0, help="Strings that the report compares.")] = 200,
    seed: given.Seed = 0,
    quiet: given.Quiet = False,
) -> None:
    """Learn the automaton of a command: it reads a string a line, blanks between symbols, and answers with a number."""
    from spectragram.automata import Automaton

    with LineCommand(command) as ask:
        model = Automaton.from_function(
            ask,
            alphabet.split(),
            n_states=states,
            oracle="next" if next else "value",
            max_queries=queries,
            tolerance=tolerance,
            compared=compared,
            random_state=seed,
        )
    model.save(out)
    note(str(model.extraction_), quiet=quiet)
    trained(out, model.summary_, quiet=quiet)
