"""The server: who may ask, what is answered, and that it stays up."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.serve.app import make_app, static_files
from spectragram.serve.openapi import document
from spectragram.serve.pictures import options_of
from spectragram.serve.security import MAX_BODY, is_loopback, policy_for
from spectragram.serve.server import serve
from spectragram.serve.shelf import Shelf
from tests.serve.live import GOLDEN, Live, serving

MODELS = [
    GOLDEN / f"{name}.sgm"
    for name in ("pipeline", "constituency", "tagger", "clusters", "lm", "automaton", "dependency", "hmm")
]
HOSTILE = '<img src=x onerror=alert(1)> <script>alert("2")</script> \u202e&lt; ){;} \\u0000'


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    text = tmp_path_factory.mktemp("corpus") / "text.txt"
    text.write_text(f"The dog barks.\n{HOSTILE}\n", encoding="utf-8")
    with serving(MODELS, text, kind="tags") as server:
        yield server


def test_every_kind_of_model_has_a_picture(live: Live) -> None:
    kinds = {}
    for model in live.get("/api/models")["models"]:
        text = "0 1 2 2 1 0" if model["kind"] == "hmm" else "The dog chased a cat."
        found = live.post("/api/analyse", model=model["name"], text=text)["sentences"][0]
        assert len(found["words"]) == 6
        kinds[model["kind"]] = found["kind"]
        for name in ("head_p", "tag_p"):
            assert all(p is None or 0 <= p <= 1 for p in found.get(name, []))
    assert kinds == {
        "pipeline": "dependency",
        "dependency": "dependency",
        "constituency": "constituency",
        "tagger": "tags",
        "clusters": "clusters",
        "lm": "surprisal",
        "automaton": "surprisal",
        "hmm": "tags",
    }
    status, found, _ = live.ask("POST", "/api/analyse", {"model": "hmm", "text": "0 dog"})
    assert status == 422 and "whole numbers" in found["error"]


def test_pictures_agree_with_the_models(live: Live) -> None:
    import spectragram as sg

    text = "The dog chased a cat ."
    parser = sg.load(GOLDEN / "constituency.sgm")
    picture = live.post("/api/analyse", model="constituency", text=text)["sentences"][0]
    assert picture["brackets"] == str(parser.predict([text])[0])
    tagger = sg.load(GOLDEN / "tagger.sgm")
    picture = live.post("/api/analyse", model="tagger", text=text)["sentences"][0]
    assert picture["tags"] == tagger.predict([text])[0]
    best = tagger.marginals([text])[0].max(axis=1)
    assert [options[0][1] for options in picture["options"]["tags"]] == pytest.approx(best.tolist(), abs=1e-4)
    lm = sg.load(GOLDEN / "lm.sgm")
    picture = live.post("/api/surprisal", model="lm", text=text)["sentences"][0]
    assert picture["bits"] == pytest.approx(lm.surprisal([text])[0].tolist(), abs=1e-3)
    pipeline = sg.load(GOLDEN / "pipeline.sgm")
    sentence = pipeline("The dog chased a cat.")[0]
    picture = live.post("/api/analyse", model="pipeline", text="The dog chased a cat.")["sentences"][0]
    assert picture["heads"] == sentence.heads.tolist() and picture["tags"] == sentence.upos
    marginals = pipeline.model_.parser.marginals([sentence])[0]
    assert picture["head_p"] == pytest.approx([marginals[i, h] for i, h in enumerate(sentence.heads)], abs=1e-4)
    hmm = sg.load(GOLDEN / "hmm.sgm")
    picture = live.post("/api/analyse", model="hmm", text="0 1 2 2")["sentences"][0]
    assert picture["tags"] == [str(state) for state in hmm.predict([0, 1, 2, 2])]


def test_options_come_most_probable_first() -> None:
    assert options_of(np.array([0.2, 0.005, 0.5, 0.295]), "abcd") == [["c", 0.5], ["d", 0.295], ["a", 0.2]]


def test_clusters_and_automata_can_be_explored(live: Live) -> None:
    found = live.get("/api/clusters/word?model=clusters&word=dog")
    assert found["path"] and found["neighbours"] and "dog" in found["cluster"]
    node = live.get(f"/api/clusters/tree?model=clusters&path={found['path'][:2]}")["nodes"][0]
    assert node["path"] == found["path"][:2] and node["size"] >= len(found["cluster"])
    assert live.get("/api/clusters/word?model=clusters&word=zzz")["path"] is None
    step = live.post("/api/walk", model="automaton", prefix="")
    assert sum(p for _, p in step["next"]) + step["rest"] == pytest.approx(1.0, abs=0.06)
    again = live.post("/api/walk", model="automaton", prefix=f"{step['next'][0][0]} zzz")
    assert again["unknown"] == [False, True] and len(again["bits"]) == 3 and again["state"]


def test_the_description_has_every_route() -> None:
    described = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}
    app = make_app(Shelf(), None, policy_for("127.0.0.1"))
    routes = {
        (method, route.path.replace(":int", ""))  # type: ignore[attr-defined]
        for route in app.app.routes  # type: ignore[attr-defined]
        for method in route.methods  # type: ignore[attr-defined]
        if route.path.startswith(("/api", "/openapi"))  # type: ignore[attr-defined]
    }
    assert {route for route in routes if route[0] != "HEAD"} == described


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    files = static_files()
    assert "/" in files and "/static/main.js" in files and "/static/style.css" in files
    for path, (content, _) in files.items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text, path
        assert "innerHTML" not in text and "outerHTML" not in text and "insertAdjacentHTML" not in text, path


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/../../etc/passwd",
        "//etc/passwd",
        "/static/",
        "/api/corpus/../../etc/passwd",
        "/api/corpus/-1",
    ],
)
def test_no_other_file_is_served(live: Live, path: str) -> None:
    status, found, _ = live.ask("GET", path)
    assert status in (404, 405) and b"root:" not in (found if isinstance(found, bytes) else b"")


def test_strangers_are_refused(live: Live) -> None:
    assert live.ask("GET", "/api/models", headers={"host": "evil.example"})[0] == 421
    assert live.ask("GET", "/", headers={"host": "evil.example:80"})[0] == 421
    step = {"step": {"op": "tag", "word": 1, "tag": "X"}}
    for headers, status in (
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"http://127.0.0.1:{live.port + 1}"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
    ):
        assert live.ask("POST", "/api/corpus/0/step", step, headers)[0] == status, headers
    assert live.get("/api/corpus/0")["picture"]["known"]["tags"] == [None] * 4
    assert live.ask("POST", "/api/undo", {}, {"origin": f"http://127.0.0.1:{live.port}"})[0] == 422


def test_every_answer_binds_the_browser(live: Live) -> None:
    for path in ("/", "/api/models", "/static/main.js", "/missing"):
        _, _, headers = live.ask("GET", path)
        assert headers["content-security-policy"].startswith("default-src 'self'"), path
        assert headers["x-content-type-options"] == "nosniff"
        assert "unsafe" not in headers["content-security-policy"]


def test_large_requests_are_refused(live: Live) -> None:
    assert live.ask("POST", "/api/analyse", b" " * (MAX_BODY + 1))[0] == 413
    status, found, _ = live.ask("POST", "/api/analyse", {"model": "lm", "text": "a" * 30_000})
    assert status == 422 and "characters" in found["error"]
    status, found, _ = live.ask("POST", "/api/analyse", {"model": "pipeline", "text": "a " * 300})
    assert status == 422 and "words" in found["error"]
    # Without a length the body is counted as it comes.
    with socket.create_connection(("127.0.0.1", live.port), timeout=10) as connection:
        head = f"POST /api/analyse HTTP/1.1\r\nHost: 127.0.0.1:{live.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        answer = b""
        try:
            for _ in range(MAX_BODY // 0x10000 + 2):
                connection.sendall(chunk)
            answer = connection.recv(100)
        except ConnectionError:
            answer = answer or b"HTTP/1.1 413"  # closed while we still sent
        assert b" 413" in answer


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"nul", b'"x"', b"[" * 100_000, json.dumps({"model": ["lm"], "text": {}}).encode(), b"{}"]
)
def test_broken_bodies_get_an_error(live: Live, body: bytes) -> None:
    status, found, _ = live.ask("POST", "/api/analyse", body)
    assert status == 422 and found["error"]


def test_markup_stays_text(live: Live) -> None:
    """The page puts text into text nodes; here: the API keeps it as it is, and never calls it HTML."""
    status, found, headers = live.ask(
        "POST", "/api/analyse", {"model": "tagger", "text": HOSTILE, "punctuation": False}
    )
    assert status == 200 and headers["content-type"] == "application/json"
    assert found["sentences"][0]["words"] == HOSTILE.split()
    assert live.get("/api/corpus/1")["picture"]["words"][0] == "<img"


def test_two_hundred_requests_at_once_are_all_answered(live: Live) -> None:
    gate = threading.Barrier(200)

    def ask(number: int) -> int:
        gate.wait(30)
        if number % 4 == 0:
            body = {"model": "pipeline", "text": "The dog chased a cat."}
            return live.ask("POST", "/api/analyse", body)[0]
        if number % 4 == 1:
            return live.ask("GET", "/")[0]
        if number % 4 == 2:
            return live.ask("POST", "/api/corpus/0/step", {"step": {"op": "tag", "word": 2, "tag": f"T{number}"}})[0]
        return live.ask("GET", "/api/corpus/0")[0]

    with ThreadPoolExecutor(200) as pool:
        assert list(pool.map(ask, range(200))) == [200] * 200
    assert live.workbench is not None
    live.post("/api/corpus/0/step", step={"op": "clear"})


def test_beyond_the_loopback_address_a_token_is_needed() -> None:
    assert policy_for("127.0.0.1").token is None and policy_for("127.0.0.1", token=True).token
    policy = policy_for("0.0.0.0")
    assert policy.token is not None and policy.token != policy_for("0.0.0.0").token
    with serving([GOLDEN / "lm.sgm"], policy=policy) as live:
        for headers in ({}, {"authorization": "Bearer x"}, {"cookie": "spectragram_token=x"}, {"cookie": "\x7f=;;="}):
            for path in ("/", "/api/models", "/static/main.js"):
                assert live.ask("GET", path, headers=headers)[0] == 401
        assert live.ask("GET", "/api/models", headers={"authorization": f"Bearer {policy.token}"})[0] == 200
        assert live.ask("GET", "/?token=wrong")[0] == 401
        status, _, headers = live.ask("GET", f"/?token={policy.token}")
        assert status == 303 and headers["location"] == "/"
        assert "HttpOnly" in headers["set-cookie"] and "SameSite=Strict" in headers["set-cookie"]
        assert live.ask("GET", "/", headers={"cookie": headers["set-cookie"].split(";")[0]})[0] == 200


def test_hosts() -> None:
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("127.5.5.5")
    assert not is_loopback("0.0.0.0") and not is_loopback("192.168.1.4") and not is_loopback("example.org")
    assert policy_for("192.168.1.4").hosts == {"192.168.1.4"} and policy_for("::").hosts is None


def test_mistakes_on_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to serve"):
        serve([])
    with pytest.raises(InputError, match="no such model file"):
        serve([tmp_path / "none.sgm"])
    with pytest.raises(InputError, match="no such file"):
        serve([], tmp_path / "none.txt")
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="cannot listen"):
        serve([GOLDEN / "lm.sgm"], port=taken.getsockname()[1])
