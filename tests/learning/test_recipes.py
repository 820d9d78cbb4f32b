"""Every difference between two recipes is a parameter that can be set alone, in either direction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from spectragram.automata import Automaton
from spectragram.automata import settings as of_automata
from spectragram.clusters import WordClusters
from spectragram.clusters import settings as of_clusters
from spectragram.constituency import ConstituencyParser
from spectragram.constituency import settings as of_constituency
from spectragram.dependency import DependencyParser
from spectragram.dependency import settings as of_dependency
from spectragram.learning.recipes import PAPER, recipe_steps
from spectragram.lm import LanguageModel
from spectragram.lm import settings as of_lm
from spectragram.tagging import Tagger
from spectragram.tagging import settings as of_tagging

KINDS: list[tuple[type, Any, Callable[[Any], Any]]] = [
    (Automaton, of_automata, of_automata.settings_of),
    (ConstituencyParser, of_constituency, of_constituency.settings_of),
    (DependencyParser, of_dependency, of_dependency.settings_of),
    (LanguageModel, of_lm, of_lm.settings_of),
    (Tagger, of_tagging, partial(of_tagging.settings_of, frames=False)),
    (WordClusters, of_clusters, of_clusters.settings_of),
]


@pytest.mark.parametrize(("estimator", "module", "read"), KINDS, ids=[kind[0].__name__ for kind in KINDS])
def test_walks_from_one_recipe_to_the_other_end_there(estimator: type, module: Any, read: Callable) -> None:
    steps = list(recipe_steps(module.RECIPES))
    assert len(steps) > 4
    there = estimator()
    for name, _, papers in steps:
        read(there.set_params(**{name: papers}))  # every place on the way has complete settings
    assert read(there) == read(estimator(recipe=PAPER))
    back = estimator(recipe=PAPER)
    for name, ours, _ in steps:
        read(back.set_params(**{name: ours}))
