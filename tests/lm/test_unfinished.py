"""Training that was interrupted goes on, and what cannot fit into memory is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectragram.errors import InputError, ModelFileError
from spectragram.learning.kneser_ney import KneserNey
from spectragram.lm import LanguageModel, learners
from spectragram.synthetic import english_text


class Stopped(Exception):
    """What an interrupt is in these tests."""


@pytest.mark.parametrize("stopped_at", [2, 4])
def test_training_goes_on_with_the_next_class_model(
    stopped_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, kept = english_text(300, seed=4), tmp_path / "kept"
    expected = LanguageModel(4, max_iter=2).fit(text)
    calls: list[int] = []
    pivot = learners.pivot

    def stopping(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == stopped_at:
            raise Stopped
        return pivot(*args, **options)

    monkeypatch.setattr(learners, "pivot", stopping)
    with pytest.raises(Stopped):
        LanguageModel(4, max_iter=2).fit(text, checkpoint=kept)
    assert kept.exists()
    with pytest.raises(InputError, match="other text or with other parameters"):
        LanguageModel(4, max_iter=2).fit(text[1:], checkpoint=kept)
    with pytest.raises(InputError, match="other text or with other parameters"):
        LanguageModel(5, max_iter=2).fit(text, checkpoint=kept)
    calls[:] = [1] * stopped_at
    found = LanguageModel(4, max_iter=2, n_jobs=1).fit(text, checkpoint=kept)
    assert len(calls) == stopped_at + 4 - (stopped_at - 1)  # two class models, in the rehearsal and then of all text
    np.testing.assert_array_equal(found.log_prob(text[:20]), expected.log_prob(text[:20]))
    assert found.n_iter_ == expected.n_iter_
    assert not kept.exists()


def test_a_checkpoint_that_is_something_else(tmp_path: Path) -> None:
    LanguageModel(learner="kn").fit(["a b c"] * 9).save(tmp_path / "kept")
    with pytest.raises(ModelFileError, match="holds 'lm'"):
        LanguageModel(2).fit(["a b c a b"] * 9, checkpoint=tmp_path / "kept")


def test_what_cannot_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = tmp_path / "text"
    with sparse.open("wb") as stream:
        stream.truncate(10**9)
    with pytest.raises(InputError, match=r"a text of 1 GB would take .* the bound is 0.5 GB"):
        LanguageModel(memory="500MB").fit(sparse)
    monkeypatch.setattr("spectragram.lm.settings.TABLE_BYTES", 10**9)
    with pytest.raises(InputError, match="classes in all would take"):
        LanguageModel(2, memory="500MB").fit(["a b c a b"] * 9)
    with pytest.raises(InputError, match="n-grams of length 4"):
        KneserNey.fit(np.arange(1000, dtype=np.int32), 1000, 4, memory=8_000)


def test_a_small_text_fits_the_smallest_bound(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("a b c a b\n" * 9)
    bounded, free = (LanguageModel(2, memory=memory).fit(text) for memory in ("256MB", None))
    assert bounded.perplexity(text) == free.perplexity(text)
