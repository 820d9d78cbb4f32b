"""The files of the PAutomaC competition: strings, target probabilities, target automata.

    strings    first line "number-of-strings alphabet-size", then lines "length s1 s2 ...", symbols 0 .. K-1
    solution   first line the number of test strings, then the probability of each
    model      sections I: (state), F: (state), S: (state,symbol), T: (state,symbol,state); entries "(1,2) 0.5"

Headers are not trusted: a header with other counts than the file is an error, and no memory is allocated because of
it. Files are written as the competition's are, with the fewest digits that read back to the same number; give
``line_end="\\r\\n"`` for the files that have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np

from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.data.text import read_text
from spectragram.errors import InputError
from spectragram.files import Source, output, plain_number, read_lines

__all__ = [
    "PautomacModel",
    "looks_like_pautomac",
    "read_pautomac",
    "read_pautomac_model",
    "read_pautomac_solution",
    "write_pautomac",
    "write_pautomac_model",
    "write_pautomac_solution",
]

MAX_ALPHABET = 1 << 20
"""A larger alphabet in a header is an error. Chosen by hand: the competition's have at most 23 symbols."""

SNIFFED_LINES = 100
"""Lines looked at to recognise the format. Chosen by hand: text in which all of them count their words is unlikely."""

MAX_MODEL_ENTRIES = 1 << 27
"""A model with more transitions (1 GB of them) is refused. Chosen by hand to protect memory."""

SECTIONS = {"I": 1, "F": 1, "S": 2, "T": 3}
"""The sections of a model file, with the number of indices of an entry."""
TITLES = {"I": "I: (state)", "F": "F: (state)", "S": "S: (state,symbol) ", "T": "T: (state,symbol,state) "}
Entries = dict[tuple[int, ...], float]
ENTRY = re.compile(r"\(([0-9, ]+)\)\s+(\S+)")


def read_pautomac(source: Source) -> Corpus:
    """Read a file of strings; symbol k is the word ``str(k)`` with id k, even if it does not occur."""
    text = read_text(source, unknown=None, keep_empty=True)  # sequence i is line i + 1
    numbers = np.array([plain_number(word) for word in text.vocabulary.words], np.int64)[text.tokens]
    if (numbers < 0).any():
        place = int(np.argmax(numbers < 0))
        line = int(np.searchsorted(text.offsets, place, "right"))
        raise _not_a_number(text.vocabulary.words[text.tokens[place]], source, line)
    n_strings, n_symbols = _checked_header(numbers[: text.offsets[min(len(text), 1)]].tolist(), source, 2)
    if not 0 < n_symbols <= MAX_ALPHABET:
        raise InputError(
            f"an alphabet of {n_symbols} symbols", path=source, line=1, remedy=f"expected 1 to {MAX_ALPHABET}"
        )
    lines = 1 + np.flatnonzero(np.diff(text.offsets[1:]))  # blank lines are not strings
    starts = text.offsets[lines]
    symbols = np.delete(numbers[text.offsets[1] :], starts - text.offsets[1])
    lengths = np.diff(text.offsets)[lines] - 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    _check_lengths(numbers[starts], lengths, lines, source)
    _check_count(len(lines), n_strings, "strings", source)
    if (symbols >= n_symbols).any():
        place = int(np.argmax(symbols >= n_symbols))
        raise InputError(
            f"symbol {symbols[place]} in an alphabet of {n_symbols}",
            path=source,
            line=1 + int(lines[np.searchsorted(offsets, place, "right") - 1]),
            remedy="symbols are numbered from 0; correct the alphabet size on line 1",
        )
    vocabulary = Vocabulary([str(k) for k in range(n_symbols)], np.bincount(symbols, minlength=n_symbols))
    return Corpus(symbols.astype(np.int32), offsets, vocabulary)


def looks_like_pautomac(source: Source) -> bool:
    """Whether a file begins like a file of strings: two numbers, then lines that begin with their number of symbols."""
    lines = [[plain_number(word) for word in line.split()] for _, line in islice(read_lines(source), SNIFFED_LINES)]
    if not lines or len(lines[0]) != 2 or min(lines[0]) < 0:
        return False
    strings = [line for line in lines[1:] if line]
    return len(strings) > 1 and all(string[0] == len(string) - 1 for string in strings)


def _check_lengths(promised: np.ndarray, found: np.ndarray, lines: np.ndarray, source: Source) -> None:
    if (promised != found).any():
        i = int(np.argmax(promised != found))
        raise InputError(
            f"a string of {found[i]} symbols whose stated length is {promised[i]}",
            path=source,
            line=int(lines[i]) + 1,
            remedy="each line is: length symbol symbol ...",
        )


def write_pautomac(corpus: Corpus, target: Source | None, *, line_end: str = "\n") -> None:
    """Write the ids of a corpus as PAutomaC strings; the alphabet is as large as its vocabulary."""
    strings = (" ".join(map(str, [len(string), *string.tolist()])) for string in corpus)
    _write(target, [f"{len(corpus)} {len(corpus.vocabulary)}"], strings, line_end)


def read_pautomac_solution(source: Source) -> np.ndarray:
    """Target probabilities of the test strings, shape (n_strings,)."""
    lines = read_lines(source)
    first = next(lines, (1, ""))[1]
    (n_strings,) = _checked_header(_integers(first, source, 1), source, 1)
    values = [_probability(line, source, number) for number, line in _with_content(lines)]
    _check_count(len(values), n_strings, "probabilities", source)
    return np.array(values)


def write_pautomac_solution(
    probabilities: np.ndarray | Iterable[float], target: Source | None, *, line_end: str = "\n"
) -> None:
    """Write the probabilities of test strings."""
    values = np.fromiter(probabilities, np.float64).tolist()
    _write(target, [str(len(values))], map(repr, values), line_end)


@dataclass(frozen=True)
class PautomacModel:
    """A probabilistic automaton in the form that the competition uses.

    In state i a string ends with probability F[i]; otherwise symbol s is drawn from S[i] and the next state
    from T[s, i].

    Attributes
    ----------
    initial : shape (n_states,)
        I, the distribution of the first state.
    final : shape (n_states,)
        F, the probability that a string ends in a state.
    symbol : shape (n_states, n_symbols)
        S, the distribution of the next symbol in a state.
    transition : shape (n_symbols, n_states, n_states)
        T, the distribution of the next state (last axis) after a symbol in a state.
    """

    initial: np.ndarray
    final: np.ndarray
    symbol: np.ndarray
    transition: np.ndarray

    @property
    def operators(self) -> np.ndarray:
        """A, shape (n_symbols, n_states, n_states), with p(x) = initial' A[x_1] ... A[x_T] final.

        A[s, i, j] = (1 - F[i]) S[i, s] T[s, i, j]
        """
        going_on = (1.0 - self.final)[:, None] * self.symbol
        return going_on.T[:, :, None] * self.transition

    def to_wfa(self) -> Any:
        """The same automaton as weights, a :class:`spectragram.automata.WFA`."""
        # Automata are above the data in the order of imports, so they are imported when they are asked for.
        return import_module("spectragram.automata.wfa").WFA(self.initial, self.operators, self.final)


def read_pautomac_model(source: Source) -> PautomacModel:
    """Read a target automaton; entries that the file does not list are 0."""
    entries: dict[str, Entries] = {name: {} for name in SECTIONS}
    section = ""
    for number, line in _with_content(read_lines(source)):
        if line[:1] in SECTIONS and line[1:2] == ":":
            section = line[0]
            continue
        entry = ENTRY.fullmatch(line.strip())
        index = tuple(_integers(entry[1].replace(",", " "), source, number)) if entry else ()
        if not entry or not section or len(index) != SECTIONS[section]:
            expected = f"{SECTIONS[section]} indices" if section else "a section (I:, F:, S:, T:) first"
            raise InputError(
                f"{line.strip()[:40]!r}",
                path=source,
                line=number,
                remedy=f"expected {expected} and a probability, like (0,1) 0.5",
            )
        if index in entries[section]:
            raise InputError(f"a second entry {entry[0]}", path=source, line=number, remedy="keep one of them")
        entries[section][index] = _probability(entry[2], source, number)
    return _model(entries, source)


def _model(entries: dict[str, Entries], source: Source) -> PautomacModel:
    for name in ("I", "S", "T"):  # a model in which no string ends is odd, but not malformed
        if not entries[name]:
            raise InputError(f"no entries in section {name}:", path=source, remedy="give a whole model file")
    states = [i for name in "IFST" for index in entries[name] for i in index[::2]]
    symbols = [index[1] for name in "ST" for index in entries[name]]
    n_states, n_symbols = max(states) + 1, max(symbols) + 1
    if n_symbols * n_states**2 > MAX_MODEL_ENTRIES:
        raise InputError(
            f"{n_states} states and {n_symbols} symbols need {n_symbols * n_states**2} entries",
            path=source,
            remedy=f"at most {MAX_MODEL_ENTRIES} are read; check the indices",
        )

    def filled(name: str, *shape: int) -> np.ndarray:
        array = np.zeros(shape)
        for index, value in entries[name].items():
            array[index] = value
        return array

    return PautomacModel(
        initial=filled("I", n_states),
        final=filled("F", n_states),
        symbol=filled("S", n_states, n_symbols),
        transition=filled("T", n_states, n_symbols, n_states).transpose(1, 0, 2),
    )


def write_pautomac_model(model: PautomacModel, target: Source | None, *, line_end: str = "\n") -> None:
    """Write an automaton; entries that are 0 are left out."""
    arrays = {"I": model.initial, "F": model.final, "S": model.symbol, "T": model.transition.transpose(1, 0, 2)}
    lines = []
    for name, array in arrays.items():
        entries = zip(np.argwhere(array).tolist(), array[array != 0].tolist(), strict=True)
        lines.append(TITLES[name])
        lines.extend(f"\t({','.join(map(str, index))}) {value!r}" for index, value in entries)
    _write(target, lines, (), line_end)


def _write(target: Source | None, head: list[str], body: Iterable[str], line_end: str) -> None:
    with output(target) as stream:
        for lines in (head, body):
            stream.writelines(line + line_end for line in lines)


def _checked_header(fields: list[int], source: Source, n_fields: int) -> list[int]:
    if len(fields) != n_fields:
        raise InputError(
            f"a first line of {len(fields)} numbers",
            path=source,
            line=1,
            remedy="expected the number of strings" + (" and the size of the alphabet" if n_fields == 2 else ""),
        )
    return fields


def _with_content(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in lines if line and not line.isspace())


def _integers(line: str, source: Source, number: int) -> list[int]:
    fields = line.split()
    for field in fields:
        if plain_number(field) < 0:
            raise _not_a_number(field, source, number)
    return list(map(int, fields))


def _not_a_number(field: str, source: Source, line: int) -> InputError:
    remedy = "PAutomaC files hold non-negative integers separated by blanks"
    return InputError(f"{field[:40]!r} where a number was expected", path=source, line=line, remedy=remedy)


def _probability(text: str, source: Source, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0.0 <= value <= 1.0:
        raise InputError(
            f"{text.strip()[:40]!r} where a probability was expected",
            path=source,
            line=number,
            remedy="give a number from 0 to 1",
        )
    return value


def _check_count(found: int, promised: int, what: str, source: Source) -> None:
    if found != promised:
        raise InputError(
            f"{found} {what}, but line 1 promises {promised}",
            path=source,
            line=1,
            remedy="fetch the file again or correct its first line",
        )
