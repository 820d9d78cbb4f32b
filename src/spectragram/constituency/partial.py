"""Learning from trees of which only some brackets, labels or tags are known.

Every bracket of such a tree is a demand, and everything else is open. The tree is completed by parsing under these
demands: first by a model of the complete trees alone, then by one of all trees; the final model learns from what that
one completes. Where no tree is complete, open labels are first called what labels are usually called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from spectragram.data.known_spans import DENIED, OPEN, SpanConstraints, is_partial
from spectragram.data.trees import UNTAGGED, Tree, fold, make_tree

__all__ = ["complete_trees"]

FEWEST_TREES = 5
"""Complete trees from which a model of those alone completes the others. Chosen by hand, not tuned."""

Parse = Callable[[Sequence[SpanConstraints]], Sequence[Tree]]
"""From demands to trees."""


def complete_trees(trees: Sequence[Tree], learn: Callable[[Sequence[Tree]], Parse]) -> list[Tree]:
    """The trees with everything filled in that is open; ``learn`` makes parsers from complete trees."""
    places = [number for number, tree in enumerate(trees) if is_partial(tree)]
    if not places:
        return list(trees)
    demands = [SpanConstraints.from_tree(trees[number]) for number in places]
    whole = [tree for tree in trees if not is_partial(tree)]
    found = list(trees)
    start = learn(whole)(demands) if len(whole) >= FEWEST_TREES else _named(trees, places)
    for number, tree in zip(places, start, strict=True):
        found[number] = tree
    for number, tree in zip(places, learn(found)(demands), strict=True):
        found[number] = tree
    return found


def _named(trees: Sequence[Tree], places: Sequence[int]) -> list[Tree]:
    """The trees of these places with their own brackets alone; open labels and tags get the usual ones."""
    labels, tags = Counter[str](), Counter[tuple[str, str]]()
    for tree in trees:
        for node in tree.subtrees():
            if node.word is not None and node.label not in (OPEN, UNTAGGED):
                tags[node.word, node.label] += 1
            elif node.word is None and node.label != OPEN and not node.label.startswith(DENIED):
                labels[node.label] += 1
    usual = labels.most_common(1)[0][0] if labels else UNTAGGED
    any_tag = Counter(tag for _, tag in tags.elements()).most_common(1)
    # The most frequent tag of a word is written last.
    tag_of = dict(sorted(tags, key=lambda pair: (tags[pair], pair)))

    def name(node: Tree, below: list[list[Tree]]) -> list[Tree]:
        if node.word is not None:
            known = node.label not in (OPEN, UNTAGGED)
            instead = tag_of.get(node.word, any_tag[0][0] if any_tag else UNTAGGED)
            return [make_tree(node.label if known else instead, (), node.word)]
        children = tuple(child for part in below for child in part)
        if node.label.startswith(DENIED):
            return list(children)
        return [make_tree(usual if node.label == OPEN else node.label, children)]

    named = [fold(trees[number], name) for number in places]
    return [parts[0] if len(parts) == 1 and not parts[0].is_tag else make_tree(usual, tuple(parts)) for parts in named]
