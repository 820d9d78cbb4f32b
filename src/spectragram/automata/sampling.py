"""Strings drawn from whatever predicts the next symbol."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree

__all__ = ["draw_strings"]


def draw_strings(
    predict: Callable[[PrefixTree], np.ndarray], n: int, rng: np.random.Generator, max_length: int
) -> list[list[int]]:
    """Draw ``n`` strings symbol by symbol, all of them at once, of at most ``max_length`` symbols.

    ``predict`` gives what follows each prefix of a tree, (n_nodes, n_symbols + 1), the end last.
    """
    strings: list[list[int]] = [[] for _ in range(n)]
    active = list(range(n))
    while active:
        offsets = np.concatenate([[0], np.cumsum([len(strings[i]) for i in active])])
        tokens = np.array([symbol for i in active for symbol in strings[i]], np.int64)
        tree = grow_prefix_tree(tokens, offsets)
        chances = predict(tree)[tree.end_of].cumsum(axis=1)
        end = chances.shape[1] - 1
        drawn = (rng.random(len(active))[:, None] * chances[:, -1:] >= chances).sum(axis=1)
        going_on = [(i, s) for i, s in zip(active, drawn.tolist(), strict=True) if s < end]
        for i, symbol in going_on:
            strings[i].append(symbol)
        active = [i for i, _ in going_on if len(strings[i]) < max_length]
    return strings
