"""The routes of the server: the page with its files, and a JSON API that the page uses like any other program.

Handlers are plain functions from arguments to JSON; they run in threads, so a long one does not hold up the others.
Errors that a user can cause have the status 422, steps on something that changed meanwhile 409.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from spectragram._version import __version__
from spectragram.errors import InputError, SpectragramError
from spectragram.serve.analysing import analyse, surprisals
from spectragram.serve.annotations import StaleError
from spectragram.serve.exploring import cluster_word, subtree, walk
from spectragram.serve.openapi import document
from spectragram.serve.security import Guard, Policy
from spectragram.serve.shelf import Shelf
from spectragram.serve.workbench import Workbench

__all__ = ["make_app", "static_files"]

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""Of the files of the page; all are UTF-8."""

Arguments = Mapping[str, Any]
Handler = Callable[[Arguments], Any]


def make_app(shelf: Shelf, workbench: Workbench | None, policy: Policy) -> Guard:
    """The application, behind its guard."""
    api = _handlers(shelf, workbench)
    routes = [Route(path, _answering(handler), methods=[method]) for (method, path), handler in api.items()]
    pages = static_files()
    routes += [Route(path, _file(content, kind)) for path, (content, kind) in pages.items()]
    return Guard(Starlette(routes=routes), policy)  # type: ignore[arg-type]


def _handlers(shelf: Shelf, workbench: Workbench | None) -> dict[tuple[str, str], Handler]:
    """What answers each request; arguments come from the path, the query and the body."""

    def bench() -> Workbench:
        if workbench is None:
            raise InputError("there is no annotation file", remedy="start the server with --corpus FILE")
        return workbench

    def text_of(arguments: Arguments) -> dict[str, Any]:
        return {"punctuation": arguments.get("punctuation", True) is not False}

    return {
        ("GET", "/api/models"): lambda _: {
            "version": __version__,
            "models": shelf.described(),
            "corpus": None if workbench is None else workbench.file.path.name,
        },
        ("POST", "/api/analyse"): lambda a: {"sentences": analyse(shelf, a.get("model"), a.get("text"), **text_of(a))},
        ("POST", "/api/surprisal"): lambda a: {
            "sentences": surprisals(shelf, a.get("model"), a.get("text"), **text_of(a))
        },
        ("GET", "/api/clusters/word"): lambda a: cluster_word(shelf.of_kind(a.get("model"), "clusters"), a.get("word")),
        ("GET", "/api/clusters/tree"): lambda a: subtree(shelf.of_kind(a.get("model"), "clusters"), a.get("path", "")),
        ("POST", "/api/walk"): lambda a: walk(_walkable(shelf, a.get("model")), a.get("prefix", "")),
        ("GET", "/api/corpus"): lambda _: bench().described(),
        ("GET", "/api/corpus/list"): lambda a: {"sentences": bench().listed(_whole(a, "start"), _whole(a, "n"))},
        ("GET", "/api/corpus/{number:int}"): lambda a: bench().sentence(a["number"]),
        ("POST", "/api/corpus/{number:int}/step"): lambda a: bench().step(a["number"], _step(a), a.get("version")),
        ("POST", "/api/undo"): lambda _: bench().undo(),
        ("POST", "/api/redo"): lambda _: bench().redo(),
        ("GET", "/api/status"): lambda _: bench().moment(),
        ("POST", "/api/training"): lambda _: bench().train(),
        ("DELETE", "/api/training"): lambda _: bench().cancel(),
        ("GET", "/openapi.json"): lambda _: document(),
    }


def _walkable(shelf: Shelf, name: object) -> Any:
    model = shelf.get(name)
    if model.kind not in ("automaton", "lm"):
        raise InputError(f"the model {name} is of kind {model.kind}", remedy="choose an automaton or a language model")
    return model


def _whole(arguments: Arguments, name: str) -> int:
    value = arguments.get(name, "0")
    if not isinstance(value, str) or not value.isascii() or not value.isdigit() or len(value) > 9:
        raise InputError(f"{name}={value!r:.40}", remedy="give a whole number")
    return int(value)


def _step(arguments: Arguments) -> Mapping[str, Any]:
    step = arguments.get("step")
    if not isinstance(step, dict):
        raise InputError("no step", remedy='send {"step": {"op": ...}}')
    return step


def _answering(handler: Handler) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            arguments = await _arguments(request)
            return JSONResponse(await run_in_threadpool(handler, arguments))
        except StaleError as trouble:
            return JSONResponse({"error": str(trouble)}, 409)
        except SpectragramError as trouble:
            return JSONResponse({"error": str(trouble)}, 422)

    return answer


async def _arguments(request: Request) -> dict[str, Any]:
    found: dict[str, Any] = dict(request.query_params)
    body = await request.body()
    if body:
        try:
            sent = json.loads(body)
        except (ValueError, RecursionError):
            raise InputError("the body is not JSON", remedy="send a JSON object") from None
        if not isinstance(sent, dict):
            raise InputError("the body is not an object", remedy='send {"name": value, ...}')
        found |= sent
    return found | request.path_params


def _file(content: bytes, kind: str) -> Callable[[Request], Any]:
    async def answer(_: Request) -> Response:
        # The browser asks again each time: a new version of the package must not meet old scripts.
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    return answer


def static_files() -> dict[str, tuple[bytes, str]]:
    """The files of the page by their path on the server, with their types. No other file is ever served."""
    folder = files("spectragram.serve") / "static"
    found = {}
    for entry in folder.iterdir():
        suffix = "." + entry.name.rpartition(".")[2]
        if suffix in TYPES:
            found[f"/static/{entry.name}"] = (entry.read_bytes(), TYPES[suffix])
    found["/"] = found["/static/index.html"]
    return found
