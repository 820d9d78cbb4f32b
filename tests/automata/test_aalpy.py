"""AALpy reads our DOT files of automata and we read its."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from spectragram.automata import DFA
from spectragram.automata.export import dfa_from_dot, dfa_to_dot

file_operations = pytest.importorskip("aalpy.utils")

NO_AA = DFA([[1, 0], [2, 0], [2, 2]], [True, True, False], ["a", "b"])
STRINGS = [list(string) for n in range(6) for string in product("ab", repeat=n)]


def test_aalpy_reads_what_we_write(tmp_path: Path) -> None:
    path = tmp_path / "ours.dot"
    path.write_text(dfa_to_dot(NO_AA))
    theirs = file_operations.load_automaton_from_file(str(path), "dfa")
    assert len(theirs.states) == 3
    for string in STRINGS:
        theirs.reset_to_initial()
        accepted = theirs.initial_state.is_accepting
        for symbol in string:
            accepted = theirs.step(symbol)
        assert bool(accepted) == NO_AA.accept(string), string


def test_we_read_what_aalpy_writes(tmp_path: Path) -> None:
    ours = tmp_path / "ours.dot"
    ours.write_text(dfa_to_dot(NO_AA))
    theirs = file_operations.load_automaton_from_file(str(ours), "dfa")
    file_operations.save_automaton_to_file(theirs, str(tmp_path / "theirs"), "dot")
    (written,) = tmp_path.glob("theirs*")
    assert dfa_from_dot(written.read_text()).is_equivalent(NO_AA)
