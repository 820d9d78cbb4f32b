"""The annotation file: what is confirmed is in it, whatever happens; untouched sentences stay as they were."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest

from spectragram.data.conllu import read_conllu
from spectragram.errors import InputError
from spectragram.serve import formats
from spectragram.serve.annotations import AnnotationFile, StaleError
from spectragram.serve.formats import read_annotations, sentence_of
from tests.serve.live import serving_process

CONLLU = """\
# sent_id = 1
# text = du pain
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t_\t_\t_\t_
2\tle\tle\t_\t_\t_\t_\t_\t_\t_
3\tpain\tpain\t_\tNN\tNumber=Sing\t_\t_\t_\tSpaceAfter=No
3.1\tvide\t_\t_\t_\t_\t_\t_\t_\t_

# text = oui
1\toui\t_\tINTJ\t_\t_\t0\troot\t_\t_

"""


def opened(path: Path) -> AnnotationFile:
    return AnnotationFile(read_annotations(path))


def texts(file: AnnotationFile) -> list[str]:
    return [record.text() for record in file.records]


@pytest.mark.parametrize(
    ("name", "text", "step"),
    [
        ("a.conllu", CONLLU, {"op": "tag", "word": 2, "tag": "DET"}),
        ("a.mrg", "( (S\n    (NP (NN x))\n  (VP (VB y)) ))\n\n(? (? a) (? b))\n", {"op": "tag", "word": 1, "tag": "N"}),
        ("a.tags", "-DOCSTART-\tO\n\na\t_\nb\tX\n\n\nc\t_\n", {"op": "tag", "word": 1, "tag": "Y"}),
    ],
)
def test_what_is_not_touched_stays_byte_for_byte(tmp_path: Path, name: str, text: str, step: dict) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    file = opened(path)
    file.step(0, step)
    assert path.read_text(encoding="utf-8") != text
    rest = file.records[1].text()
    assert path.read_text(encoding="utf-8").endswith(rest) and text.endswith(rest)
    file.undo()
    assert path.read_text(encoding="utf-8") == text
    file.redo()
    assert path.read_text(encoding="utf-8") != text
    assert texts(opened(path)) == texts(file)


def test_a_large_file_is_read_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(formats, "_tag_column", lambda sentences: asked.append(len(sentences)) or "upos")
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU * 3, encoding="utf-8")
    file = opened(path)
    assert asked == [6], "once for the file, not for every sentence"
    assert file.statuses == ["partial", "done"] * 3
    file.step(1, {"op": "tag", "word": 1, "tag": None})
    file.step(0, {"op": "clear"})
    assert file.statuses == ["open", "partial", "partial", "done", "partial", "done"]
    file.undo()
    assert file.statuses[0] == "partial"


def test_steps_are_undone_in_order_and_made_again(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    file = opened(path)
    file.step(0, {"op": "arc", "word": 1, "head": 3, "relation": "case"})
    file.step(1, {"op": "tag", "word": 1, "tag": "X"})
    assert not file.can_redo
    change = file.undo()
    assert change is not None and change.number == 1 and file.records[1].known()["tags"] == ["INTJ"]
    assert file.undo() is not None and file.undo() is None
    assert file.redo() is not None
    assert file.records[0].known()["heads"] == [3, None, None]
    file.step(0, {"op": "tag", "word": 2, "tag": "DET"})
    assert not file.can_redo, "a new step forgets what was undone"
    assert file.step(0, {"op": "tag", "word": 2, "tag": "DET"}).after == file.records[0]
    assert file.versions == [4, 2], "a step that changes nothing is none"


def test_a_file_that_somebody_else_changed_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    file = opened(path)
    with pytest.raises(StaleError, match="changed elsewhere"):
        file.step(0, {"op": "tag", "word": 2, "tag": "DET"}, version=3)
    path.write_text(CONLLU + CONLLU, encoding="utf-8")
    with pytest.raises(StaleError, match="another program"):
        file.step(0, {"op": "tag", "word": 2, "tag": "DET"})
    assert path.read_text(encoding="utf-8") == CONLLU + CONLLU
    assert file.records[0].known()["tags"][1] is None and not file.can_undo


def test_a_step_that_cannot_be_saved_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    file = opened(path)

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(InputError, match="No space left"):
        file.step(0, {"op": "tag", "word": 2, "tag": "DET"})
    assert path.read_text(encoding="utf-8") == CONLLU
    assert file.versions == [0, 0] and not file.can_undo
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.conllu"]


def test_text_becomes_a_file_of_its_own_and_is_found_again(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text('She said: "Go to the U.S. (now)!"\n\nNo.\n', encoding="utf-8")
    file = opened(text)
    assert file.path == tmp_path / "text.conllu" and not file.path.exists()
    assert file.records[0].words == ["She", "said", ":", '"', "Go", "to", "the", "U.S.", "(", "now", ")", "!", '"']
    file.step(1, {"op": "tag", "word": 1, "tag": "INTJ"})
    assert texts(opened(text)) == texts(file)
    sentence = next(read_conllu(file.path))
    assert sentence.comments == ('# text = She said: "Go to the U.S. (now)!"',)
    assert sentence.column("misc")[1] == "SpaceAfter=No"
    assert texts(opened(file.path)) == texts(file)
    for kind, first in (("constituency", "(? (? No) (? .))\n"), ("tags", "No\t_\n.\t_\n\n")):
        other = AnnotationFile(read_annotations(text, kind))
        other.step(0, {"op": "tag", "word": 1, "tag": "X"})
        assert other.records[1].text() == first
        assert texts(AnnotationFile(read_annotations(text, kind))) == texts(other)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", b"", "is empty"),
        ("a.txt", b"\x1f\x8b\x08", "compressed"),
        ("a.trees", b"(S (NN a)\n", "unbalanced"),
        ("a.trees", b"(S (NN a)))\n", "unbalanced"),
        ("a.conllu", b"1\ta\n", "columns"),
        ("a.txt", b"caf\xe9\n", "UTF-8"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        read_annotations(path)


def test_words_may_stand_between_spaces() -> None:
    sentence = sentence_of("don't (really) stop.", punctuation=False)
    assert sentence is not None and sentence.forms == ["don't", "(really)", "stop."]


@pytest.mark.slow
def test_a_killed_server_has_saved_every_confirmed_step(tmp_path: Path) -> None:
    """Killed while somebody annotates as fast as possible: `python -m benchmarks speed/serve` does it fifty times."""
    rng = random.Random(5)
    path = tmp_path / "text.conllu"
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(f"w{i}x{j}" for j in range(9)) for i in range(40)) + "\n", encoding="utf-8")
    confirmed: list[tuple[int, int, str]] = []
    for kill in range(2):
        with serving_process("--corpus", text) as (live, process):
            try:
                for n in range(10_000):
                    if n == 1:  # after the first step: a busy machine may take its time until then
                        threading.Timer(rng.uniform(0.05, 0.4), process.kill).start()
                    step = (rng.randrange(40), rng.randrange(1, 10), f"T{kill}x{n}")
                    live.step(step[0], op="tag", word=step[1], tag=step[2])
                    confirmed.append(step)
            except OSError:
                pass
            assert process.wait(10) != 0
        sentences = list(read_conllu(path))
        last = {(number, word): tag for number, word, tag in confirmed}
        wrong = [key for key, tag in last.items() if sentences[key[0]].upos[key[1] - 1] != tag]
        # The step that was under way may be in the file too; it can have replaced one that was confirmed.
        assert len(sentences) == 40 and len(confirmed) > kill and len(wrong) <= 1
        if wrong:
            number, word = wrong[0]
            assert sentences[number].upos[word - 1] == f"T{kill}x{n}"
            confirmed.append((number, word, f"T{kill}x{n}"))
        time.sleep(0.05)
