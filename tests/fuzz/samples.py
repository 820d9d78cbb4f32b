"""What is mutated: small files of every format, and small models of every kind and variant."""

from __future__ import annotations

import contextlib
import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from spectragram import cli
from spectragram.data import write_conllu
from spectragram.synthetic import english_treebank
from spectragram.synthetic.english import write_english

N_TREES, N_PARSED = 12, 3
"""Trees that models are trained on, and those that are mutated and parsed: parsing takes longest of all."""
SENTENCES = ["The old dog chased a fox .", "She saw Boris 's hat in the garden !", "It was small"]
STRINGS = ["a b a b", "c", "a b c", "", "b c c a", "a", "a b a b c c"] * 4
PAUTOMAC = "6 3\n3 0 1 2\n2 1 1\n0\n4 2 2 0 1\n1 2\n3 0 0 1\n"
LAST = "pairs.counts"
"""The file that is written when all models are trained."""
SOLUTION = "28\n" + "0.1\n0.2\n0.3\n0.1\n" * 7
PATHS = "0\tthe\t9\n100\tdog\t4\n1010\tfox\t2\n1011\tgarden\n11\tsaw\t1\n"
PARTIAL = "(? (NP the old dog) (!VP chased (? a fox)) .)\n(? (! the old) (NN dog) (? barked))\nIt was small\n"
ANSWERS, CHANCES = "".join(f"{0.5 / 3 ** (n % 7):.6f}\n" for n in range(2000)), "0.4 0.6\n" * 2000
"""What a command answers that ``extract`` asks: the value of every string; probabilities of the symbol and the end."""
ARPA = (
    "\\data\\\nngram 1=4\nngram 2=3\n\n\\1-grams:\n-1.0\t<unk>\n-0.6\t</s>\n-99\t<s>\t-0.3\n-0.5\ta\t-0.2\n\n"
    "\\2-grams:\n-0.2\t<s> a\n-0.4\ta a\n-0.5\ta </s>\n\n\\end\\\n"
)
NOWHERE = "192.0.2.1"
"""An address that no machine has (RFC 5737): a server that is told to listen there reads its files and gives up."""


def write_data(folder: Path) -> dict[str, Path]:
    """Small files by format."""
    found = {
        name: folder / f"data.{name}"
        for name in ("strings", "numbers", "text", "pautomac", "solution", "npz", "conllu")
    }
    found["strings"].write_text("\n".join(STRINGS) + "\n", encoding="utf-8")
    found["numbers"].write_text("0 1 1 2\n2 0\n1 1 0 2 2\n" * 4, encoding="utf-8")
    found["text"].write_text("\n".join(SENTENCES * 6) + "\n", encoding="utf-8")
    found["pautomac"].write_text(PAUTOMAC, encoding="utf-8")
    found["solution"].write_text(SOLUTION, encoding="utf-8")
    write_conllu(english_treebank(N_TREES, seed=3), found["conllu"])
    english = write_english(folder, N_TREES, 3, "small")
    found |= {"trees": english["trees"], "columns": english["tags"]}
    found["few"] = folder / "few.trees"
    found["few"].write_text("".join(english["trees"].read_text(encoding="utf-8").splitlines(True)[:N_PARSED]), "utf-8")
    _write_frames(found["npz"])
    for name, content in (
        ("paths", PATHS),
        ("partial", PARTIAL),
        ("answers", ANSWERS),
        ("chances", CHANCES),
        ("arpa", ARPA),
    ):
        found[name] = folder / f"data.{name}"
        found[name].write_text(content, encoding="utf-8")
    found["holes"] = folder / "data.holes.conllu"
    found["holes"].write_text(_with_holes(found["conllu"].read_text(encoding="utf-8")), encoding="utf-8")
    found["gz"] = folder / "data.text.gz"
    found["gz"].write_bytes(gzip.compress(found["text"].read_bytes(), mtime=0))
    return found


def _with_holes(conllu: str) -> str:
    """CoNLL-U in which every third word lacks its head, every fourth its relation; some heads are ruled out."""
    lines = [line.split("\t") for line in conllu.splitlines()]
    for number, fields in enumerate(lines):
        if len(fields) == 10:
            fields[6] = "_" if number % 3 == 0 else fields[6]
            fields[7] = "_" if number % 4 == 0 else fields[7]
            fields[9] = "NotHead=2" if number % 6 == 0 and fields[0] != "2" else fields[9]
    return "\n".join("\t".join(fields) for fields in lines) + "\n"


def _write_frames(path: Path) -> None:
    rng = np.random.default_rng(5)
    phones = np.repeat(rng.integers(3, size=20), 4)
    np.savez(
        path,
        features=rng.normal(size=(80, 3)) + phones[:, None],
        offsets=np.array([0, 30, 80]),
        frame_phone=phones,
        phone_names=np.array(["a", "b", "c"]),
        utterances=np.array(["one", "two"]),
    )


MODELS: dict[str, tuple[str, str, str]] = {
    "automaton": ("automaton", "strings", "--fast --iterations 3"),
    "automaton-spectral": ("automaton", "strings", "--learner spectral --states 3 --basis 20"),
    "automaton-ngram": ("automaton", "strings", "--learner ngram --order 3"),
    "hmm": ("hmm", "numbers", "--states 2 --iterations 2"),
    "tagger": ("tagger", "columns", "--states 2 --models 2 --iterations 1 --epochs 1"),
    "tagger-spectral": ("tagger", "columns", "--learner spectral --states 2 --no-factors"),
    "tagger-frames": ("tagger", "npz", "--states 2 --codes 5 --iterations 1"),
    "constituency": ("constituency", "trees", "--fast --states 2 --iterations 1"),
    "constituency-spectral": ("constituency", "trees", "--learner spectral --states 2"),
    "dependency": ("dependency", "conllu", "--states 2 --iterations 1 --epochs 1"),
    "dependency-tags": ("dependency", "conllu", "--learner det --no-factors"),
    "clusters": ("clusters", "text", "--clusters 4 --dimensions 3 --min-count 1"),
    "lm": ("lm", "text", "--states 2 --iterations 2 --min-count 2"),
    "lm-kn": ("lm", "text", "--learner kn --order 2 --boundaries --min-count 2"),
    "pipeline": ("pipeline", "conllu", "--fast --states 2 --folds 0"),
}
"""Name of a model: its kind, the data that it is trained on, options."""


def train_models(folder: Path, data: dict[str, Path]) -> dict[str, Path]:
    """Small trained models by name, and saved counts."""
    found = {}
    for name, (kind, format_, options) in MODELS.items():
        found[name] = folder / f"{name}.sgm"
        run_quietly(["train", kind, str(data[format_]), "-o", str(found[name]), "-q", "-j", "1", *options.split()])
    found["counts"] = folder / LAST
    clusters = ["train", "clusters", str(data["text"]), "-o", str(folder / "again.sgm"), "-q", "--clusters", "4"]
    run_quietly([*clusters, "--counts", str(found["counts"])])
    return found


def run_quietly(argv: list[str]) -> None:
    """A command that must work."""
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()):
        status = cli.main(argv)
    if status:
        raise RuntimeError(f"{' '.join(argv)}: {errors.getvalue()}")


PREDICT = {
    "automaton": ["", "--prefix", "--surprisal", "--next --top 2", "--prob"],
    "hmm": ["", "--prob"],
    "tagger": ["", "--marginals", "--confidence", "--kbest 2", "--constrained"],
    "constituency": ["", "--marginals", "--log-prob", "--surprisal", "--kbest 3", "--confidence"],
    "dependency": ["", "--marginals", "--confidence", "--kbest 2", "--constrained"],
    "clusters": ["", "--ids", "--bits 2", "--assign"],
    "lm": ["", "--surprisal", "--next --top 3", "--prefix"],
    "pipeline": ["", "--input sentences", "--input words", "--replace upos,feats", "--confidence", "--kbest 2"],
}
EXPORT = {
    "automaton": ["openfst", "symbols", "dot", "pautomac", "json", "svg"],
    "clusters": ["paths", "word2vec", "json"],
    "lm": ["arpa", "json"],
}
INSPECT = {"constituency": "--sentence dogs bark", "dependency": "--head NN"}
SURPRISAL = ("automaton", "constituency", "lm", "tagger")
RANK = ("constituency", "dependency", "pipeline", "tagger")
"""Kinds that these verbs take; ``distil`` takes those of ``rank``."""
STUDENT = "--states 1 -q -j 1"
INPUT_OF = {"tagger-frames": "npz", "pipeline": "text"}
"""Formats of predictions that differ from those of training."""
TRAIN = {
    name: f"{options} -q -j 1"
    for name, (_, _, options) in MODELS.items()
    if name not in ("automaton", "pipeline", "constituency", "dependency")
} | {
    "automaton": "--learner pivot --states 2 --iterations 1 -q -j 1",
    "constituency": "--learner pcfg -q -j 1",
    "dependency": "--learner det+f --no-factors -q -j 1",
    "pipeline": "--fast --states 1 --folds 0 -q -j 1",
}


def uses_of_model(name: str, model: Path, data: dict[str, Path], out: Path) -> Iterator[list[str]]:
    """Command lines that use a model."""
    kind, format_, _ = MODELS[name]
    source, gold = str(data[INPUT_OF.get(name, format_)]), str(data[format_])
    for options in PREDICT[kind]:
        yield ["predict", str(model), source, *options.split()]
    yield ["predict", str(model), source, "--out", str(out)]
    yield ["evaluate", str(model), gold, "--json"]
    inspect = INSPECT.get(kind, "").split(" ", 1)
    yield ["inspect", str(model), *([] if inspect == [""] else inspect)]
    yield ["inspect", str(model), "--html", str(out)]
    yield ["inspect", str(model), "--json"]
    for export in EXPORT.get(kind, ["json"]):
        yield ["export", str(model), "-f", export]
    if kind in SURPRISAL:
        yield ["surprisal", str(model), source, "-j", "1"]
    if kind in RANK:
        yield ["rank", str(model), source, "-j", "1"]
        yield ["rank", str(model), source, "-j", "1", "--by", "representative", "--unit", "token", "--json"]
        yield ["distil", str(model), source, "-o", str(out), *STUDENT.split()]
    yield ["serve", str(model), "--host", NOWHERE]
    if kind == "clusters":
        yield ["train", "clusters", source, "-o", str(out), "-q", "-j", "1", "--extend", str(model)]
        yield ["train", "tagger", str(data["columns"]), "-o", str(out), "--clusters", str(model), *QUICK_TAGGER.split()]
    if kind == "pipeline":
        lm = str(model.with_name("lm.sgm"))
        yield ["surprisal", lm if Path(lm).exists() else str(model), source, "--tokenizer", str(model), "-j", "1"]


QUICK_TAGGER = "--learner em --states 1 --models 1 --iterations 1 --epochs 1 -q -j 1"
USES = {
    "solution": ["evaluate {automaton} {strings} --solution {path}"],
    "paths": ["train tagger {columns} -o {out} --clusters {path} " + QUICK_TAGGER],
    "arpa": ["train lm {path} -o {out} -q"],
    "answers": ["extract --alphabet a -o {out} --queries 100 --compared 5 --states 2 -q -- cat {path} -"],
    "chances": ["extract --alphabet a -o {out} --queries 100 --compared 5 --next -q -- cat {path} -"],
    "partial": [
        "predict {constituency} {path} --constrained",
        "predict {constituency} {path} --constrained --marginals",
        "predict {constituency-spectral} {path} --constrained --kbest 2",
        "predict {constituency} {path} --constrained --confidence",
        "train constituency {path} -o {out} --learner pcfg -q -j 1",
        "rank {constituency} {path} -j 1",
        "serve {constituency} --corpus {path} --kind constituency --host " + NOWHERE,
    ],
    "holes": [
        "predict {dependency} {path} --constrained",
        "predict {dependency} {path} --constrained --marginals",
        "predict {dependency-tags} {path} --constrained --kbest 2",
        "predict {dependency} {path} --constrained --confidence",
        "predict {pipeline} {path} --input conllu",
        "rank {dependency} {path} -j 1 --unit token",
        "serve {dependency} --corpus {path} --host " + NOWHERE,
        "train dependency {path} -o {out} --learner det --no-factors -q -j 1",
    ],
    "columns": ["predict {tagger} {path} --constrained", "predict {tagger-spectral} {path} --constrained --kbest 2"],
}
"""Further command lines that read a format; names in braces are models and data."""


def uses_of_data(format_: str, path: Path, models: dict[str, Path], out: Path) -> Iterator[list[str]]:
    """Command lines that read a file of a format: training, prediction, scores."""
    folder = models["automaton"].parent
    names = {"path": path, "out": out, "strings": folder / "data.strings", "columns": folder / "small.tags"} | models
    for use in USES.get(format_, []):
        yield [word.format_map({name: str(value) for name, value in names.items()}) for word in use.split()]
    for name, (kind, trained_on, _) in MODELS.items():
        reads = {trained_on, INPUT_OF.get(name, trained_on)}
        reads |= {"pautomac"} if kind == "automaton" else {"gz"} if "text" in reads else set()
        if format_ in reads:
            yield ["predict", str(models[name]), str(path)]
            yield ["predict", str(models[name]), str(path), "--out", str(out)]
            if kind in SURPRISAL:
                yield ["surprisal", str(models[name]), str(path), "-j", "1", "--words"]
            if kind in RANK:
                yield ["rank", str(models[name]), str(path), "-j", "1"]
            if format_ in (trained_on, "pautomac"):
                yield ["evaluate", str(models[name]), str(path)]
                yield ["train", kind, str(path), "-o", str(out), *TRAIN[name].split()]
