"""Tables of surprisal: rows for words, columns for models, in every format."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from spectragram import surprisal_table
from spectragram.automata import Automaton
from spectragram.cli import main
from spectragram.clusters import WordClusters
from spectragram.constituency import ConstituencyParser
from spectragram.errors import InputError
from spectragram.lm import LanguageModel
from spectragram.synthetic.english import english_trees

TEXT = ["Ada saw the dog.", 'The old "dog" frobnicated!']


@pytest.fixture(scope="module")
def models():
    trees = english_trees(150)
    words = [tree.leaves() for tree in trees]
    return {
        "parser": ConstituencyParser(2, preset="fast").fit(trees),
        "ngram": LanguageModel(learner="kn", order=2, boundaries=True).fit(words),
        "automaton": Automaton(learner="bigram").fit(words),
    }


@pytest.fixture(scope="module")
def folder(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, model in models.items():
        model.save(folder / f"{name}.sgm")
    (folder / "text.txt").write_text("\n".join(TEXT) + "\n", encoding="utf-8")
    return folder


def test_a_row_for_every_word_as_it_is_written(models):
    table = surprisal_table(models, TEXT)
    assert [row[:3] for row in table.rows] == [
        [number, position, word]
        for number, line in enumerate(TEXT, start=1)
        for position, word in enumerate(line.split(), start=1)
    ]
    assert table.columns[3:5] == ["parser_tag", "parser_known"]
    assert len(table.columns) == 3 + 3 * 7


def test_words_add_up_what_is_said_about_their_tokens(models):
    parser = models["parser"]
    rows = surprisal_table(parser, TEXT[:1], ends=True).rows
    tokens = ["Ada", "saw", "the", "dog", "."]
    (bits,) = parser.surprisal([tokens])
    (found,) = parser.measure([tokens])
    assert [row[5] for row in rows] == pytest.approx([*bits[:3], bits[3] + bits[4], bits[5]])
    assert rows[3][6] == pytest.approx(found.lexical[3:5].sum())
    assert rows[3][7] == pytest.approx(found.syntactic[3:5].sum())
    assert rows[3][8] == pytest.approx(found.entropy[5])
    assert rows[3][9] == pytest.approx(max(found.derivation_entropy[3] - found.derivation_entropy[5], 0.0))
    assert rows[3][3] == "+".join(found.tags[3:5])
    assert rows[4][:3] == [1, 5, "</s>"]


def test_unknown_words_are_marked_and_expensive(models):
    table = surprisal_table(models, TEXT)
    last = dict(zip(table.columns, table.rows[-1], strict=True))
    for name in models:
        assert last[f"{name}_known"] is False
        assert last[f"{name}_surprisal"] > 30.0
    assert last["parser_lexical"] > 25.0
    assert last["ngram_lexical"] is None


def test_pandas_gets_the_same(models):
    pytest.importorskip("pandas")
    table = surprisal_table(models["parser"], TEXT)
    frame = table.to_pandas()
    assert list(frame.columns) == table.columns
    assert frame["surprisal"].sum() == pytest.approx(sum(row[5] for row in table.rows))


def test_other_kinds_are_refused():
    clusters = WordClusters(2).fit([["a", "b", "a", "c"]] * 5)
    with pytest.raises(InputError, match="'clusters', which is not a distribution over sentences; give a constituency"):
        surprisal_table(clusters, TEXT)


def test_a_model_without_probabilities_is_named(models):
    spectral = ConstituencyParser(2, "spectral").fit(english_trees(150))
    with pytest.raises(InputError, match=r"old: a spectral model is not a probability distribution"):
        surprisal_table({"ngram": models["ngram"], "old": spectral}, TEXT)


def test_lines_without_words_are_not_counted(models, tmp_path):
    (tmp_path / "text.txt").write_text("Ada saw\n\n   \nthe dog\n", encoding="utf-8")
    rows = surprisal_table(models["ngram"], tmp_path / "text.txt").rows
    assert [row[:2] for row in rows] == [[1, 1], [1, 2], [2, 1], [2, 2]]


def test_models_of_one_kind_are_numbered(models):
    table = surprisal_table([models["ngram"], models["ngram"]], TEXT[:1])
    assert {"lm1_surprisal", "lm2_surprisal"} <= set(table.columns)


# The command line


def test_every_format_says_the_same(folder, capsys):
    files = [str(folder / name) for name in ("parser.sgm", "ngram.sgm", "text.txt")]
    assert main(["surprisal", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = list(csv.DictReader(lines, delimiter="\t"))
    assert [row["word"] for row in rows] == [word for line in TEXT for word in line.split()]
    for ending, delimiter in (("tsv", "\t"), ("csv", ",")):
        assert main(["surprisal", *files, "--out", str(folder / f"t.{ending}")]) == 0
        with (folder / f"t.{ending}").open(encoding="utf-8", newline="") as stream:
            assert list(csv.DictReader(stream, delimiter=delimiter)) == rows
    assert main(["surprisal", *files, "--out", str(folder / "t.jsonl")]) == 0
    objects = [json.loads(line) for line in (folder / "t.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [f"{found['parser_surprisal']:.4f}" for found in objects] == [row["parser_surprisal"] for row in rows]
    assert objects[0]["ngram_tag"] is None
    assert rows[0]["ngram_tag"] == ""


def test_options(folder, capsys):
    base = ["surprisal", str(folder / "parser.sgm"), str(folder / "text.txt")]
    assert main([*base, "--words", "--no-entropy-reduction", "--ends", "--jobs", "1"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines(), delimiter="\t"))
    assert rows[3]["word"] == "dog."
    assert rows[3]["known"] == "FALSE"
    assert rows[4]["word"] == "</s>"
    assert {row["entropy_reduction"] for row in rows} == {""}
    assert all(math.isfinite(float(row["surprisal"])) for row in rows)
    twice = [str(folder / "parser.sgm")] * 2
    assert main(["surprisal", *twice, str(folder / "text.txt"), "--no-entropy-reduction"]) == 0
    assert "parser1_surprisal\t" in capsys.readouterr().out
    assert main(["surprisal", *twice, str(folder / "text.txt"), "--names", "a,b", "--no-entropy-reduction"]) == 0
    assert "b_surprisal\t" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text.txt"], "a model and a text are needed"),
        (["parser.sgm", "nothing.txt"], "no such file"),
        (["parser.sgm", "text.txt", "--format", "xlsx"], "choose tsv, csv, jsonl"),
        (["parser.sgm", "text.txt", "--out", "table.parquet"], "choose tsv, csv, jsonl"),
        (["parser.sgm", "text.txt", "--names", "a,b"], "2 names for 1 models"),
        (["parser.sgm", "text.txt", "--tokenizer", "ngram.sgm"], "is not a pipeline"),
        (["parser.sgm", "text.txt", "--out", "text.txt"], "is read by this very command"),
    ],
)
def test_mistakes_are_explained(folder, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    assert main(["surprisal", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_infinite_values_are_null_in_json(tmp_path):
    from spectragram.surprisal.table import SurprisalTable

    SurprisalTable(["word", "surprisal"], [["a", np.inf]]).write(tmp_path / "t.jsonl")
    assert json.loads((tmp_path / "t.jsonl").read_text(encoding="utf-8")) == {"word": "a", "surprisal": None}
