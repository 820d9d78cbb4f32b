"""Pictures are well-formed XML, contain the given data, and withstand hostile text."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import spectragram.plots
from spectragram.automata.wfa import WFA
from spectragram.data import Sentence, parse_tree
from spectragram.plots import Drawing, bar_chart, heat_map, html_page, line_chart
from spectragram.plots.charts import nice_ticks
from spectragram.plots.page import html_table, save_page
from spectragram.plots.svg import PALETTE, mix, text_width

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
    assert heights[2] > heights[0] > heights[1] > heights[3]  # larger values are higher
    assert {"a", "b <c>", "x", "y", "t"} <= set(texts(root))


@pytest.mark.parametrize("points", [[], [(1, 1)], [(2, 5), (2, 5)]])
def test_charts_with_no_points_or_one_value(points: list[tuple[float, float]]) -> None:
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


def test_an_axis_over_many_powers_of_ten_leaves_room_between_its_ticks() -> None:
    root = parse(line_chart({"a": [(1.0, 1e-4), (1000.0, 1e80)]}, log_x=True, log_y=True))
    places = sorted(float(text.get("y", "0")) for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "end")
    assert len(places) >= 5
    assert min(b - a for a, b in itertools.pairwise(places)) > 15


def test_mix_and_width() -> None:
    assert mix(0.5, "#000000", "#ffffff") == "#808080"
    assert mix(7) == "#2563eb"
    assert text_width("WWW", 10) > text_width("iii", 10) > 0


def test_page_escapes_and_saves(tmp_path: Path) -> None:
    page = html_page("a <b>", [("h & h", html_table(["n"], [["<x>"], [1.5]]))])
    assert "<x>" not in page
    assert "&lt;x&gt;" in page
    assert '<td class="n">1.5</td>' in page
    save_page(tmp_path / "page.html", page)
    assert (tmp_path / "page.html").read_text() == page
    Drawing(3, 3).save(tmp_path / "d.svg")
    assert (tmp_path / "d.svg").read_text().startswith("<svg")


def test_small_numbers_keep_their_digits_and_lists_are_joined() -> None:
    shown = html_table(["a"], [[0.00012], [0.0], [7], [True], [{"x": 1, "y": 2}], [["p", "q"]]])
    cells = ElementTree.fromstring(shown).iter("td")
    assert [cell.text for cell in cells] == ["1.2e-04", "0", "7", "True", "x: 1, y: 2", "p, q"]


def test_a_placed_drawing_is_moved() -> None:
    inner, outer = Drawing(10, 10), Drawing(50, 50)
    inner.circle(1, 2, 3)
    outer.place(inner, 20, 30.5)
    (group,) = parse(outer).iter(f"{SVG}g")
    assert group.get("transform") == "translate(20,30.5)"
    assert [circle.get("cx") for circle in group.iter(f"{SVG}circle")] == ["1"]
    assert outer._repr_svg_() == str(outer)


# Drawings of model objects are imported on first use.


def test_drawings_are_listed_before_they_are_imported() -> None:
    code = "import sys, spectragram.plots as p; print(*dir(p)); print('spectragram.automata' in sys.modules)"
    listed, loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {"draw_automaton", "draw_tree", "hierarchy_drawing", "line_chart"} <= set(listed.split())
    assert set(spectragram.plots.__all__) <= set(listed.split())
    assert loaded == "False"


def test_every_listed_name_is_there() -> None:
    for name in spectragram.plots.__all__:
        assert callable(getattr(spectragram.plots, name)), name


def test_an_unknown_name_is_told_with_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"'draw_cat'.*draw_tree"):
        spectragram.plots.draw_cat


def test_labels_of_a_tree_stand_above_their_words() -> None:
    root = parse(spectragram.plots.draw_tree(parse_tree("(S (NP (DT a) (NN <cat>)) (VP (VBZ sleeps)))"), "A tree"))
    at = {e.text: (float(e.get("x", "")), float(e.get("y", ""))) for e in root.iter(f"{SVG}text")}
    assert set(at) == {"A tree", "S", "NP", "VP", "DT", "NN", "VBZ", "a", "<cat>", "sleeps"}
    assert at["a"][0] < at["<cat>"][0] < at["sleeps"][0]
    assert at["S"][1] < at["NP"][1] < at["DT"][1] < at["a"][1]
    assert at["NP"][0] == pytest.approx((at["DT"][0] + at["NN"][0]) / 2, abs=0.01)


def test_wrong_arcs_are_red_and_improbable_ones_pale() -> None:
    sentence = Sentence.from_words(["dogs", "chase", "cats"], head=["2", "0", "2"], deprel=["nsubj", "root", "obj"])
    sure = np.array([1.0, 1.0, 0.5])
    root = parse(spectragram.plots.draw_dependencies(sentence, probabilities=sure, gold=[3, 0, 2], title="Arcs"))
    wrong, pale = (path.get("stroke") for path in root.iter(f"{SVG}path"))
    assert wrong == PALETTE[1]
    assert pale == mix(0.65, high=PALETTE[0])
    assert {"dogs", "nsubj", "obj", "Arcs"} <= set(root.itertext())


def test_automata_show_their_symbols_and_where_strings_end() -> None:
    # State 0 reads a and goes to state 1, which reads b and stays, or ends.
    a, b = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 0.5]])
    wfa = WFA(np.array([1.0, 0.0]), np.stack([a, b]), np.array([0.0, 0.5]))
    graph = spectragram.plots.graph_of_wfa(wfa, ["a", "b"])
    assert graph.edges == {(0, 1): "a 1", (1, 1): "b 0.5"}
    root = parse(spectragram.plots.draw_automaton(graph, "Title"))
    assert {"a 1", "b 0.5", "0.50", "Title"} <= set(texts(root))
    rings = [circle for circle in root.iter(f"{SVG}circle") if circle.get("fill") == "none"]
    assert len(rings) == 1
