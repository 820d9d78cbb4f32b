"""Draw the pictures of how-it-works.md from a small automaton whose parameters are known.

python docs/draw_how_it_works.py      writes docs/images/how-*.svg (a minute)
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from spectragram.automata import Automaton
from spectragram.automata.hankel import ExactBlock
from spectragram.automata.spectral import automaton_from_block
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus
from spectragram.plots import Drawing, draw_automaton, graph_of_wfa, heat_map, line_chart
from spectragram.plots.svg import INK, MUTED, PALETTE
from spectragram.synthetic.automata import PNFA, all_strings

IMAGES = Path(__file__).parent / "images"
SYMBOLS = "ab"
BASIS = all_strings(2, 3)
PROBES = all_strings(2, 9)
SIZES = (300, 1000, 3000, 10_000, 30_000, 100_000)
N_STARTS = 8


def main() -> None:
    """Draw all of them."""
    truth = four_states()
    graph = graph_of_wfa(WFA(truth.initial, truth.operators, truth.final), SYMBOLS)
    draw_automaton(graph).save(IMAGES / "how-true.svg")
    two_sides().save(IMAGES / "how-sides.svg")
    names = ["".join(SYMBOLS[s] for s in string) or "(empty)" for string in BASIS]
    heat_map(np.sqrt(truth.hankel(BASIS, BASIS)).tolist(), names, names, cell=22).save(IMAGES / "how-block.svg")
    spectra(truth).save(IMAGES / "how-spectrum.svg")
    errors(truth).save(IMAGES / "how-errors.svg")


def four_states() -> PNFA:
    """A cycle over four states: a moves on, b stays, skips or goes back."""
    operators, final = np.zeros((2, 4, 4)), np.zeros(4)
    operators[0, 0, 1], operators[1, 0, 0], final[0] = 0.7, 0.1, 0.2
    operators[0, 1, 2], operators[1, 1, 1] = 0.95, 0.05
    operators[0, 2, 3], operators[1, 2, 0] = 0.5, 0.5
    operators[0, 3, 0], operators[1, 3, 1] = 0.3, 0.7
    return PNFA(np.eye(4)[0], operators, final)


def two_sides() -> Drawing:
    """A place in a string and in a tree: what is on one side, what is on the other, the state between."""
    drawing = Drawing(720, 210)
    for i, word in enumerate(["the", "dog", "h", "barks", "loudly"]):
        x, side = 40 + 62 * i, PALETTE[0] if i < 2 else PALETTE[2]
        if word == "h":
            drawing.circle(x, 90, 17, fill="#ffffff", stroke=INK, stroke_width=2)
            drawing.text(x, 95, "h", size=14, anchor="middle", font_weight="bold")
        else:
            drawing.rect(x - 27, 74, 54, 32, fill=side, opacity=0.15, rx=4)
            drawing.text(x, 95, word, size=13, anchor="middle")
    drawing.text(71, 136, "past: psi", size=13, anchor="middle", fill=PALETTE[0])
    drawing.text(257, 136, "future: phi", size=13, anchor="middle", fill=PALETTE[2])
    outside, inside = "M 520 20 L 390 180 L 690 180 Z", "M 520 78 L 462 180 L 578 180 Z"
    drawing.path(outside, stroke=PALETTE[0], fill=PALETTE[0], fill_opacity=0.15)
    drawing.path(inside, stroke=PALETTE[2], fill="#ffffff")
    drawing.path(inside, stroke=PALETTE[2], fill=PALETTE[2], fill_opacity=0.15)
    drawing.circle(520, 76, 17, fill="#ffffff", stroke=INK, stroke_width=2)
    drawing.text(520, 81, "h", size=14, anchor="middle", font_weight="bold")
    drawing.text(520, 160, "inside: phi", size=13, anchor="middle", fill=PALETTE[2])
    drawing.text(566, 54, "outside: psi", size=13, fill=PALETTE[0])
    drawing.text(40, 200, "a string", size=12, fill=MUTED)
    drawing.text(390, 200, "a tree", size=12, fill=MUTED)
    return drawing


def spectra(truth: PNFA) -> Drawing:
    """Singular values of the block, exact and from samples."""
    series = {f"{n} strings": block(truth.sample(n, np.random.default_rng(n))).matrix for n in (1000, 10_000, 100_000)}
    series["exact"] = truth.hankel(BASIS, BASIS)
    values = {name: np.linalg.svd(matrix, compute_uv=False)[:10] for name, matrix in series.items()}
    points = {
        name: [(float(i), float(value)) for i, value in enumerate(found, 1) if value > 1e-12]
        for name, found in values.items()
    }
    return line_chart(points, x_label="number", y_label="singular value of the block", log_y=True)


def errors(truth: PNFA) -> Drawing:
    """How far learned probabilities are from the true ones, summed over all strings of up to nine symbols."""
    true = np.array([truth.value(string) for string in PROBES])
    names = ("spectral", "EM, typical start", "EM, worst of 8 starts", "spectral, then EM")
    series: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for n in SIZES:
        corpus = truth.sample(n, np.random.default_rng(n))
        spectral, *_ = automaton_from_block(block(corpus), 4, smallest=1e-12)
        starts = [_error(_fitted(corpus, "em", seed), true) for seed in range(N_STARTS)]
        found = (
            float(np.abs(spectral.values(PROBES) - true).sum()),
            float(np.median(starts)),
            max(starts),
            _error(_fitted(corpus, "spectral+em", 0), true),
        )
        for name, value in zip(names, found, strict=True):
            series[name].append((float(n), value))
    return line_chart(series, x_label="strings in the sample", y_label="error of probabilities", log_x=True, log_y=True)


def block(corpus: Corpus) -> ExactBlock:
    """Relative frequencies of prefix + suffix and of prefix + symbol + suffix."""
    counts = Counter(tuple(string.tolist()) for string in corpus)

    def share(*parts: int) -> float:
        return counts[parts] / len(corpus)

    strings = np.array([[share(*u, *v) for v in BASIS] for u in BASIS])
    shifted = np.array([[[share(*u, s, *v) for v in BASIS] for u in BASIS] for s in range(2)])
    return ExactBlock(strings, shifted, strings[0], strings[:, 0])


def _fitted(corpus: Corpus, learner: str, seed: int) -> Automaton:
    return Automaton(4, learner, prior=0.01, max_iter=200, random_state=seed).fit(corpus)


def _error(model: Automaton, true: np.ndarray) -> float:
    words = model.vocabulary_.words
    strings = [[words[s] for s in string] for string in PROBES]
    return float(np.abs(np.exp(model.log_prob(strings)) - true).sum())


if __name__ == "__main__":
    main()
