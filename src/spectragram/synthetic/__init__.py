"""Models with known parameters, exact moments and samplers, and the demo corpora."""

from __future__ import annotations

from spectragram.synthetic.automata import PNFA, all_strings
from spectragram.synthetic.brown import BrownModel, BrownMoments
from spectragram.synthetic.english import (
    english_chunks,
    english_dependencies,
    english_derivations,
    english_tagged,
    english_text,
    english_trees,
    write_english,
)
from spectragram.synthetic.english_treebank import english_treebank
from spectragram.synthetic.lpcfg import LatentPCFG, TreeMoments
from spectragram.synthetic.rhmm import (
    LabelledSample,
    RefinementHMM,
    RefinementMoments,
    RefinementViews,
    window_features,
)
from spectragram.synthetic.shag import DependencySample, HeadAutomata, modifier_sequences

__all__ = [
    "PNFA",
    "BrownModel",
    "BrownMoments",
    "DependencySample",
    "HeadAutomata",
    "LabelledSample",
    "LatentPCFG",
    "RefinementHMM",
    "RefinementMoments",
    "RefinementViews",
    "TreeMoments",
    "all_strings",
    "english_chunks",
    "english_dependencies",
    "english_derivations",
    "english_tagged",
    "english_text",
    "english_treebank",
    "english_trees",
    "modifier_sequences",
    "window_features",
    "write_english",
]
