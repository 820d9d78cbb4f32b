"""Recipes: what parameters stand at if a user leaves them out.

Every estimator has two: ``ours``, the default, and ``paper``, the algorithm of its paper as written, nothing added. A
recipe is a dictionary of parameter values, and each of its entries is a parameter of the estimator whose default is
None: what is given counts, what is left out stands as the recipe says, and a preset gives what the recipe does not. So
every single difference can be set alone, and :func:`recipe_steps` lists them in order: setting one after the other to
the paper's value walks from one recipe to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["OURS", "PAPER", "Recipes", "recipe_steps"]

OURS, PAPER = "ours", "paper"
Recipes = Mapping[str, Mapping[str, Any]]
"""Values of parameters by the name of the recipe."""


def recipe_steps(recipes: Recipes) -> Iterator[tuple[str, Any, Any]]:
    """The parameters in which the two recipes differ: name, our value, the paper's value.

    A value of None means that the preset decides.

    >>> list(recipe_steps({"ours": {"kappa": 5.0, "order": 4}, "paper": {"kappa": 0.0, "order": 4}}))
    [('kappa', 5.0, 0.0)]
    """
    ours, papers = recipes[OURS], recipes[PAPER]
    for name in dict.fromkeys([*ours, *papers]):
        if ours.get(name) != papers.get(name):
            yield name, ours.get(name), papers.get(name)
