"""Pictures of trees, sentences, automata, subspaces and models for notebooks (see :mod:`spectragram.display`)."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from spectragram.data.trees import fold
from spectragram.plots.charts import bar_chart, spectrum_chart
from spectragram.plots.page import html_table, summary_table
from spectragram.plots.svg import clean

if TYPE_CHECKING:
    from spectragram.automata.dfa import DFA
    from spectragram.automata.wfa import WFA
    from spectragram.data.conllu import Sentence
    from spectragram.data.trees import Tree
    from spectragram.estimator import Estimator
    from spectragram.spectral.subspace import Subspace

__all__ = ["automaton_svg", "dfa_svg", "model_html", "predictions_html", "sentence_svg", "subspace_svg", "tree_svg"]

MAX_WORDS, MAX_DEPTH, MAX_STATES = 200, 100, 20
"""Larger objects are shown as text, since nobody could read their pictures. Chosen by hand."""
PICTURES = 10
"""Answers that are drawn below each other; who wants to see more asks for them. Chosen by hand."""
PICTURE_LABELS = 12
"""Bars in the picture of a model, few enough to fit beside its summary. Chosen by hand."""
PICTURE_DEPTH = 3
"""Levels of the hierarchy of clusters in the picture of a model: at most eight rows. Chosen by hand."""


def tree_svg(tree: Tree) -> str | None:
    """A picture of the tree, or None if it is too deep or too long."""
    from spectragram.plots.trees import draw_tree

    depth: int = fold(tree, lambda node, below: 1 + max(below, default=0))
    return None if depth > MAX_DEPTH or len(tree.leaves()) > MAX_WORDS else str(draw_tree(tree))


def sentence_svg(sentence: Sentence) -> str | None:
    """A picture of the dependency arcs, or None if the sentence is empty or too long or a head is missing."""
    from spectragram.plots.dependency import draw_dependencies

    heads = sentence.heads
    drawable = 0 < len(heads) <= MAX_WORDS and bool((heads >= 0).all())
    return str(draw_dependencies(sentence)) if drawable else None


def predictions_html(answers: Sequence[Any]) -> str | None:
    """The pictures of the first answers below each other, or None if they have no pictures."""
    drawn = [draw() for answer in answers[:PICTURES] if (draw := getattr(answer, "_repr_svg_", None)) is not None]
    if not drawn or None in drawn:
        return None
    more = len(answers) - len(drawn)
    rest = f"<p>and {more} more</p>" if more else ""
    return "".join(f'<div style="overflow-x: auto">{picture}</div>' for picture in drawn) + rest


def automaton_svg(wfa: WFA) -> str | None:
    """A picture of states and transitions, or None if there are too many states.

    Symbols are shown as numbers because an automaton on its own does not know their words.
    """
    from spectragram.plots.automata import draw_automaton, graph_of_wfa

    if not 0 < wfa.n_states <= MAX_STATES:
        return None
    return str(draw_automaton(graph_of_wfa(wfa, [str(symbol) for symbol in range(wfa.n_symbols)])))


def dfa_svg(dfa: DFA) -> str | None:
    """A picture of states and moves, or None if there are too many states."""
    from spectragram.plots.automata import draw_automaton, graph_of_dfa

    return str(draw_automaton(graph_of_dfa(dfa))) if dfa.n_states <= MAX_STATES else None


def subspace_svg(subspace: Subspace) -> str | None:
    """A chart of the singular values, or None if there are none."""
    return str(spectrum_chart(subspace.singular_values)) if subspace.n_states else None


def model_html(model: Estimator) -> str:
    """The parameters that differ from their defaults, the summary of training, and a picture that is quick to make."""
    fitted = model.__sklearn_is_fitted__()
    parts = [f"<p><code>{escape(clean(repr(model)))}</code>{'' if fitted else ', not trained yet'}</p>"]
    if fitted:
        parts.append(summary_table(model.summary_))
        draw = _PICTURES.get(model.kind)
        parts.append(draw(model) if draw else "")
    rows = [[name, repr(value)] for name, value in model.get_params().items()]
    parts.append(f"<details><summary>all parameters</summary>{html_table(['parameter', 'value'], rows)}</details>")
    return f"<div>{''.join(parts)}</div>"


def _automaton_picture(model: Any) -> str:
    return str(spectrum_chart(model.spectrum_)) if len(model.spectrum_) else ""


def _clusters_picture(model: Any) -> str:
    from spectragram.plots.clusters import hierarchy_drawing

    return str(hierarchy_drawing(model, depth=PICTURE_DEPTH))


def _constituency_picture(model: Any) -> str:
    from spectragram.plots.trees import states_chart

    return str(states_chart(model, PICTURE_LABELS))


def _hmm_picture(model: Any) -> str:
    from spectragram.plots.hmm import hmm_svg

    return hmm_svg(model)


def _tagger_picture(model: Any) -> str:
    from spectragram.plots.tagger import states_of_labels

    states = states_of_labels(model)
    most = dict(sorted(states.items(), key=lambda item: -item[1])[:PICTURE_LABELS])
    return str(bar_chart(most, x_label="hidden states")) if most else ""


_PICTURES = {
    "automaton": _automaton_picture,
    "clusters": _clusters_picture,
    "constituency": _constituency_picture,
    "hmm": _hmm_picture,
    "tagger": _tagger_picture,
}
