"""Templates of the four views on a sequence small enough to read."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.tagging.codebook import Codebook
from spectragram.tagging.features import SPEECH_VIEWS, extract_views, text_views, token_atoms
from spectragram.tagging.sequences import read_observations

OBSERVED = read_observations([["the", "dog", "the"], ["dog"]])
LABELS = np.array([0, 1, 0, 1], np.int32)


def groups(column: np.ndarray) -> list[int]:
    """Numbers in order of first appearance, so that only equality counts."""
    seen: dict[int, int] = {}
    return [seen.setdefault(int(value), len(seen)) for value in column]


def test_atoms_at_a_distance() -> None:
    atoms = token_atoms(OBSERVED, LABELS)
    features = extract_views(atoms, OBSERVED.offsets, ["word[0]", "word[1]", "label[-1]", "word[1]*label[-1]"])
    assert groups(features[:, 0]) == [0, 1, 0, 1]
    assert groups(features[:, 1]) == [0, 1, 2, 2]  # dog, the, end, end
    assert groups(features[:, 2]) == [0, 1, 2, 0]  # start, 0, 1, start
    assert groups(features[:, 3]) == [0, 1, 2, 3]


def test_templates_share_no_numbers() -> None:
    features = extract_views(token_atoms(OBSERVED, LABELS), OBSERVED.offsets, text_views(1).destiny)
    used = [set(column.tolist()) for column in features.T]
    assert len(set().union(*used)) == sum(map(len, used))


def test_runs_of_labels() -> None:
    labels = np.array([5, 5, 5, 2, 5, 5, 7], np.int32)
    observed = read_observations([["a"] * 5, ["a"] * 2])
    atoms = token_atoms(observed, labels)
    end = 8
    assert atoms["next"].tolist() == [2, 2, 2, 5, end, 7, end]
    assert atoms["previous"].tolist() == [end, end, end, 5, 2, end, 5]
    assert atoms["position"].tolist() == [0, 1, 2, 0, 0, 0, 0]


def test_rare_words_share_labels_and_frequent_ones_do_not() -> None:
    observed = read_observations([["Dogs", "cogs", "Dogs"] + ["the"] * 6 + ["The"] * 6 + ["jogs"]])
    word = token_atoms(observed, np.zeros(16, np.int32))["word"]
    assert word[1] == word[-1] != word[2]
    assert len(set(word[3:15].tolist())) == 1
    assert word[0] != word[2]  # a capital at the beginning is another matter


def test_rare_codes_of_a_codebook_stay_apart() -> None:
    """Codes are written as numbers, which must not be taken for words that look alike."""
    codebook = Codebook(np.arange(20.0)[:, None])
    observed = codebook.observe(np.arange(20.0)[:, None], np.array([0, 20]))
    word = token_atoms(observed, np.zeros(20, np.int32))["word"]
    assert len(set(word.tolist())) == 20


def test_ablation_drops_templates_with_the_atom() -> None:
    assert any("position" in t for t in SPEECH_VIEWS.destiny)
    without = SPEECH_VIEWS.without("position", "next", "previous")
    assert not any(atom in t for t in without.destiny + without.future for atom in ("position", "next", "previous"))
    assert "label[1]" in without.destiny


@pytest.mark.parametrize("template", ["word", "word[x]", "word[0]+word[1]", "tone[0]"])
def test_bad_templates_are_refused(template: str) -> None:
    with pytest.raises(InputError, match=r"template|atom"):
        extract_views(token_atoms(OBSERVED, LABELS), OBSERVED.offsets, [template])


def test_unknown_views_are_refused() -> None:
    with pytest.raises(InputError, match="is not a view"):
        text_views(1).replaced({"fate": ["word[0]"]})
