"""The benchmarks' own instruments: turns alternate, ratios have a spread, rows have the keys that the runner prints."""

from __future__ import annotations

import pytest

from benchmarks.__main__ import _names, table_line
from benchmarks.measure import Seconds, ratio_row, row, take_turns


def test_tasks_alternate_and_report_other_clocks() -> None:
    order: list[str] = []
    ticks = iter([0.0, 1.0, 10.0, 10.0, 20.0, 23.0, 30.0, 30.0])

    def elsewhere() -> Seconds:
        order.append("theirs")
        return Seconds(0.25)

    seconds = take_turns({"ours": lambda: order.append("ours"), "theirs": elsewhere}, 2, lambda: next(ticks, 0.0))
    assert order == ["ours", "theirs", "ours", "theirs"]
    assert seconds["theirs"] == [0.25, 0.25]
    assert seconds["ours"][0] == 1.0


def test_a_score_is_not_taken_for_seconds() -> None:
    assert take_turns({"score": lambda: -1234.5}, 1)["score"][0] >= 0


def test_a_ratio_is_the_median_of_turns_with_its_spread() -> None:
    found = ratio_row("x", "peer", [4.0, 9.0, 20.0], [2.0, 3.0, 2.0])
    assert found["value"] == 3.0
    assert found["spread"] == [2.0, 10.0]
    assert table_line(found)[2:5] == ["3.00 (2.00 to 10.00)", 1.0, "better"]


@pytest.mark.parametrize(("value", "better", "verdict"), [(2.0, "lower", "worse"), (2.0, "higher", "better")])
def test_verdicts(value: float, better: str, verdict: str) -> None:
    assert table_line(row("x", "s", value, 1.0, "peer", better))[4] == verdict


def test_a_row_without_an_anchor_names_no_source() -> None:
    assert row("x", "s", 1.0, None, "peer")["anchor_source"] is None


def test_names_are_chosen_by_prefix() -> None:
    peers = {"crfsuite", "hmmlearn", "kenlm", "sklearn", "splearn", "udpipe", "udpipe_parser"}
    assert {f"beside/{peer}" for peer in peers} == set(_names(["beside"]))
    with pytest.raises(SystemExit, match="no benchmark starts with speeed"):
        _names(["speeed"])


def test_hmmlearn_runs_beside_ours() -> None:
    from benchmarks.beside.hmmlearn import run

    rows = run(quick=True)
    assert [r["measure"] for r in rows] == ["hmmlearn / ours, CPU s"] * 6
    assert all(r["value"] > 0 for r in rows)
