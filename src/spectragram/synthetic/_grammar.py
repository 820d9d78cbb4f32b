"""Parts of the synthetic L-PCFG: drawing its parameters and ordering sampled nodes."""

from __future__ import annotations

import numpy as np

from spectragram.synthetic._chance import draw_rows

__all__ = ["draw_child_states", "draw_rule_choice", "leftmost", "make_exclusive"]

OWN_RULE = 0.3
"""Weight, before normalisation, of the rule over two pre-terminals that a state prefers. Chosen by hand, not tuned."""


def leftmost(generations: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Reorder nodes from generations to leftmost derivations: rules of all trees, and the offsets of the trees.

    ``generations`` holds, for each generation, the rule of each node and which of the nodes have children.
    """
    sizes: list[np.ndarray] = []
    below = np.zeros(0, np.int64)
    for rules, parents in reversed(generations):
        size = np.ones(len(rules), np.int64)
        size[parents] += below.reshape(-1, 2).sum(axis=1)
        sizes.insert(0, size)
        below = size
    offsets = np.concatenate([[0], np.cumsum(sizes[0])])
    tokens = np.empty(offsets[-1], np.int32)
    places = offsets[:-1]
    for g, (rules, parents) in enumerate(generations):
        tokens[places] = rules
        left = places[parents] + 1
        if g + 1 < len(generations):
            places = np.stack([left, left + sizes[g + 1][::2]], axis=1).ravel()
    return tokens, offsets


def make_exclusive(weights: np.ndarray, order: np.ndarray) -> None:
    """For every state h, reserve outcome order[h] for it, in ``weights`` of shape (n_outcomes, n_states).

    The reserved outcome gets the weight 1 / n_states, the average weight of a state.
    """
    for h in range(weights.shape[1]):
        weights[order[h]] = 0
        weights[order[h], h] = 1 / weights.shape[1]


def draw_rule_choice(
    rules: np.ndarray,
    n_interminals: int,
    m: int,
    sharpness: float,
    branching: float,
    pivot: bool,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw q(a -> b c | a, h), shape (R, m).

    Every state prefers one rule over two pre-terminals, so that trees end. With ``pivot`` no other state of the label
    uses that rule.
    """
    choice = np.zeros((len(rules), m))
    growth = (rules[:, 1:] < n_interminals).sum(axis=1)
    for a in range(n_interminals):
        mine = np.flatnonzero(rules[:, 0] == a)
        q = draw_rows(m, len(mine), sharpness, rng).T
        leaves = rng.permutation(np.flatnonzero(growth[mine] == 0))
        if pivot:
            make_exclusive(q, leaves)
        else:
            q[leaves[:m], np.arange(m)] += OWN_RULE
        q /= q.sum(axis=0)
        # Scale down the rules that make trees grow in states whose expected growth exceeds ``branching``.
        growing = growth[mine] > 0
        q[growing] *= np.minimum(1, branching / np.maximum(growth[mine] @ q, branching))
        q[~growing] *= (1 - q[growing].sum(axis=0)) / q[~growing].sum(axis=0)
        choice[mine] = q
    return choice


def draw_child_states(rules: np.ndarray, m: int, sharpness: float, pivot: bool, rng: np.random.Generator) -> np.ndarray:
    """Draw P(h2, h3 | h1, rule), shape (R, m, m, m): each child position of a rule prefers one state of its label.

    With ``pivot`` every label and state has one position that is closed to all other states of the label.
    """
    preferred = np.zeros((len(rules), 2), np.int64)
    exclusive = np.zeros((len(rules), 2), bool)
    for label in range(rules[:, 1:].max() + 1):
        places = rng.permutation(np.argwhere(rules[:, 1:] == label))
        preferred[places[:, 0], places[:, 1]] = np.arange(len(places)) % m
        if pivot:
            exclusive[places[:m, 0], places[:m, 1]] = True
    states = rng.dirichlet(np.ones(m * m), (len(rules), m)).reshape(-1, m, m, m) * (1 - sharpness)
    numbers = np.arange(len(rules))
    states[numbers, :, preferred[:, 0], preferred[:, 1]] += sharpness
    own = np.eye(m, dtype=bool)[preferred] | ~exclusive[:, :, None]  # (R, 2, m): states allowed in a position
    states *= own[:, None, 0, :, None] & own[:, None, 1, None, :]
    return states / states.sum(axis=(2, 3), keepdims=True)
