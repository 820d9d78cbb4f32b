"""Models with known parameters, exact moments and samplers; the demo corpora."""

from __future__ import annotations

from spectragram.synthetic.english import (
    english_chunks,
    english_dependencies,
    english_derivations,
    english_tagged,
    english_text,
    english_trees,
    write_english,
)

__all__ = [
    "english_chunks",
    "english_dependencies",
    "english_derivations",
    "english_tagged",
    "english_text",
    "english_trees",
    "write_english",
]
