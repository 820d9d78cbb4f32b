"""Word clusters and vectors from raw text."""

from spectragram.clusters.counting import count_files, count_sequences
from spectragram.clusters.counts import PairCounts, TextOptions
from spectragram.clusters.estimator import WordClusters

__all__ = ["PairCounts", "TextOptions", "WordClusters", "count_files", "count_sequences"]
