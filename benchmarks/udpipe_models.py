"""UDPipe 1 trained in parts, which are kept: a treebank takes it minutes to an hour, and a run may be interrupted.

    python -m benchmarks.udpipe_models English-EWT            trains what is missing of a treebank
    python -m benchmarks.udpipe_models English-EWT tagger     one part: tokenizer, tagger, or parser (after the tagger)

UDPipe's parser learns from the tags of UDPipe's own tagger; apart from that the parts have nothing to do with each
other. So a part trained alone, the parser with the finished tagger at hand, is the same as in one training of all
three; put together, they are one model again. A folder keeps each part with the processor seconds that its training
took, UDPipe's version and a checksum of the treebank; where one of those differs the part is trained anew.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from benchmarks.measure import HERE, data_folder
from spectragram.data import Sentence, read_conllu

if TYPE_CHECKING:
    import ufal.udpipe as udpipe

FOLDER = HERE / "environments" / "udpipe-models"
PARTS = ("tokenizer", "tagger", "parser")
OPTIONS = {"tokenizer": "", "tagger": "", "parser": "iterations=10"}
"""UDPipe's defaults; ten iterations of the parser are its default, too."""
EWT = "English-EWT"


def treebank(data: Path, name: str) -> tuple[list[Sentence], list[Sentence]]:
    """Training and dev sentences; the last tenth of the training part where there is no dev part."""
    if name == EWT:
        parts = [data / "ud-ewt" / f"en_ewt-ud-{part}.conllu.gz" for part in ("train", "dev")]
    else:
        parts = [data / "ud-small" / f"{name}.{part}.conllu.gz" for part in ("train", "dev")]
    train = list(read_conllu(parts[0]))
    if parts[1].exists():
        return train, list(read_conllu(parts[1]))
    n = len(train) - len(train) // 10
    return train[:n], train[n:]


def trained_model(name: str, train: list[Sentence], folder: Path = FOLDER) -> tuple[udpipe.Model, float]:
    """UDPipe trained on a treebank, and the processor seconds that all its parts took; kept parts are not trained."""
    import ufal.udpipe as udpipe

    seconds = sum(_ensure_part(name, train, part, folder)["seconds"] for part in PARTS)
    whole = folder / f"{name}.all"
    _write(whole, _train(train[:1], {part: _from_model(folder, name, part) for part in PARTS}))
    return udpipe.Model.load(str(whole)), seconds


def trained_udpipe(train: list[Sentence], tokenizer: str, tagger: str, parser: str) -> udpipe.Model:
    """UDPipe trained with these options: an empty string means the defaults, ``none`` leaves a part out."""
    import ufal.udpipe as udpipe

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(_train(train, {"tokenizer": tokenizer, "tagger": tagger, "parser": parser}))
        return udpipe.Model.load(str(path))


def _ensure_part(name: str, train: list[Sentence], part: str, folder: Path) -> dict[str, Any]:
    """Train one part unless it is kept; what is known about it."""
    import ufal.udpipe as udpipe

    version = udpipe.Version.current()
    checksum = 0
    for sentence in train:
        checksum = crc32(str(sentence).encode(), checksum)
    stamp = {
        "udpipe": f"{version.major}.{version.minor}.{version.patch}",
        "options": OPTIONS[part],
        "treebank": checksum,
    }
    about = folder / f"{name}.{part}.json"
    if about.exists() and (folder / f"{name}.{part}").exists():
        known: dict[str, Any] = json.loads(about.read_text())
        if known == stamp | {"seconds": known["seconds"]}:
            return known
    options = dict.fromkeys(PARTS, "none") | {part: OPTIONS[part]}
    if part == "parser":
        _ensure_part(name, train, "tagger", folder)
        options["tagger"] = _from_model(folder, name, "tagger")
    began = time.process_time()
    found = _train(train, options)
    seconds = time.process_time() - began
    _write(folder / f"{name}.{part}", found)
    known = stamp | {"seconds": seconds}
    _write(about, json.dumps(known).encode())
    return known


def _from_model(folder: Path, name: str, part: str) -> str:
    return f"from_model=file:{folder / f'{name}.{part}'}"


def _train(train: list[Sentence], options: dict[str, str]) -> bytes:
    import ufal.udpipe as udpipe

    error, nothing = udpipe.ProcessingError(), udpipe.Sentences()
    parts = [options[part] for part in PARTS]
    model = udpipe.Trainer.train("morphodita_parsito", udpipe.Sentences(as_udpipe(train)), nothing, *parts, error)
    if error.occurred():
        raise RuntimeError(f"UDPipe: {error.message}")
    return bytes(model)


def _write(path: Path, content: bytes) -> None:
    """Write a file at once, so that an interrupted run leaves none that is half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_bytes(content)
    new.replace(path)


def as_udpipe(sentences: list[Sentence]) -> list[udpipe.Sentence]:
    """Our sentences as theirs."""
    import ufal.udpipe as udpipe

    found, error = [], udpipe.ProcessingError()
    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText("".join(f"{sentence}\n" for sentence in sentences))
    sentence = udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        found.append(sentence)
        sentence = udpipe.Sentence()
    if error.occurred():
        raise RuntimeError(f"UDPipe: {error.message}")
    return found


def main() -> None:
    data = data_folder()
    if data is None or len(sys.argv) < 2:
        raise SystemExit(f"SPECTRAGRAM_DATA must be set\n{__doc__}")
    name, *parts = sys.argv[1:]
    train, _ = treebank(data, name)
    for part in parts or PARTS:
        print(name, part, _ensure_part(name, train, part, FOLDER), flush=True)


if __name__ == "__main__":
    main()
