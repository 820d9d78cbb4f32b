"""What to annotate next: sentences, and single places in them, in the order of how much they would teach."""

from spectragram.annotation.doubts import Doubt, Doubts, find_doubts
from spectragram.annotation.ranking import Ranked, rank, rank_doubts

__all__ = ["Doubt", "Doubts", "Ranked", "find_doubts", "rank", "rank_doubts"]
