"""Raw text to annotated text: sentences, words, lemmas, tags, features, heads and relations, from one treebank."""

from spectragram.pipeline.estimator import Pipeline

__all__ = ["Pipeline"]
