"""Pictures are well-formed XML, hold what they were given, and survive hostile text."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from spectragram.plots import Drawing, bar_chart, heat_map, html_page, line_chart
from spectragram.plots.charts import nice_ticks
from spectragram.plots.page import html_table
from spectragram.plots.svg import mix, text_width

SVG = "{http://www.w3.org/2000/svg}"


def parse(drawing: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(str(drawing))


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_hostile_text_stays_text() -> None:
    drawing = Drawing(100, 50, title="<script>")
    drawing.text(1, 1, "</text><script>x</script>\0\ud800", tip='"<&')
    root = parse(drawing)
    assert texts(root) == [""]  # the tip's title element comes first
    assert "</text><script>x</script>\ufffd\ufffd" in "".join(root.itertext())
    assert not list(root.iter(f"{SVG}script"))


def test_line_chart_draws_every_point_inside_the_canvas() -> None:
    series = {"a": [(1, 0.5), (10, 2.0)], "b <c>": [(1, -1.0), (100, 3.0)]}
    root = parse(line_chart(series, x_label="x", y_label="y", title="t", log_x=True))
    circles = list(root.iter(f"{SVG}circle"))
    assert len(circles) == 4
    for circle in circles:
        assert 0 < float(circle.get("cx", "")) < 640
        assert 0 < float(circle.get("cy", "")) < 380
    heights = [float(circle.get("cy", "")) for circle in circles]
    assert heights[2] > heights[0] > heights[1] > heights[3]  # larger values stand higher
    assert {"a", "b <c>", "x", "y", "t"} <= set(texts(root))


@pytest.mark.parametrize("points", [[], [(1, 1)], [(2, 5), (2, 5)]])
def test_charts_of_nothing_and_of_one_value(points: list[tuple[float, float]]) -> None:
    assert len(list(parse(line_chart({"only": points})).iter(f"{SVG}circle"))) == len(points)


def test_bars_are_proportional_and_signed() -> None:
    root = parse(bar_chart({"a": 2.0, "b": -1.0}))
    bars = [r for r in root.iter(f"{SVG}rect") if r.get("rx")]
    assert float(bars[0].get("width", "")) == pytest.approx(2 * float(bars[1].get("width", "")))
    assert float(bars[1].get("x", "")) < float(bars[0].get("x", ""))


def test_heat_map_shades_by_size() -> None:
    root = parse(heat_map([[0.0, 1.0]], ["r"], ["c", "d"]))
    cells = [r for r in root.iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None]
    assert [cell.get("fill") for cell in cells] == ["#ffffff", "#2563eb"]


def test_ticks_are_round_and_inside() -> None:
    assert nice_ticks(0, 1) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert nice_ticks(81.2, 86.9) == [82.0, 84.0, 86.0]
    assert nice_ticks(3, 3) != []


def test_mix_and_width() -> None:
    assert mix(0.5, "#000000", "#ffffff") == "#808080"
    assert mix(7) == "#2563eb"
    assert text_width("WWW", 10) > text_width("iii", 10) > 0


def test_page_escapes_and_saves(tmp_path: Path) -> None:
    page = html_page("a <b>", [("h & h", html_table(["n"], [["<x>"], [1.5]]))])
    assert "<x>" not in page
    assert "&lt;x&gt;" in page
    assert '<td class="n">1.5</td>' in page
    Drawing(3, 3).save(tmp_path / "d.svg")
    assert (tmp_path / "d.svg").read_text().startswith("<svg")
