"""The OpenAPI description of the JSON API; a test compares it with the routes."""

from __future__ import annotations

from typing import Any

from spectragram._version import __version__

__all__ = ["document"]

Operation = dict[str, Any]

TEXT = {
    "model": ("string", "Name of a model, as /api/models lists it."),
    "text": ("string", "One sentence a line, or CoNLL-U."),
    "punctuation": ("boolean", "Whether to split marks from words (default); otherwise words stand between spaces."),
}
MODEL = {"model": ("string", "Name of a model, as /api/models lists it.")}
STEP = """What the annotator did. In CoNLL-U: {op: tag, word, tag}, {op: arc, word, head, relation}, {op: word, word,
tag, head, relation}, {op: accept, tags, heads, relations}, {op: clear}. In brackets: {op: span, start, end, label,
replaces}, {op: forbid, start, end, label}, {op: forget, start, end, label}, {op: tag, word, tag}, {op: accept, tree},
{op: clear}. In columns: tag, accept, clear. Words and heads count from 1 (head 0 is the root), spans from 0; null is
"not known"."""


def document() -> dict[str, Any]:
    """The description, as OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "spectragram",
            "version": __version__,
            "description": "What the page does, any program can do. Errors are objects with the key 'error'.",
        },
        "paths": {
            "/api/models": {"get": _operation("The models that are served, and the annotation file.")},
            "/api/analyse": {"post": _operation("A picture of every sentence: tags, arcs or trees.", body=TEXT)},
            "/api/surprisal": {"post": _operation("Surprisal of every word, in bits.", body=TEXT)},
            "/api/clusters/word": {
                "get": _operation(
                    "The path of a word, its neighbours and its cluster.",
                    query=MODEL | {"word": ("string", "A word.")},
                )
            },
            "/api/clusters/tree": {
                "get": _operation(
                    "A node of the hierarchy and a few levels below it.",
                    query=MODEL | {"path": ("string", "Bits from the root; none for the root itself.")},
                )
            },
            "/api/walk": {
                "post": _operation(
                    "What follows a prefix, and the state of the automaton after it.",
                    body=MODEL | {"prefix": ("string", "Symbols with spaces between them.")},
                )
            },
            **_annotation(),
            "/openapi.json": {"get": _operation("This description.")},
        },
    }


def _annotation() -> dict[str, Any]:
    number = {"number": ("integer", "Number of the sentence in the file, from 0.")}
    return {
        "/api/corpus": {"get": _operation("The annotation file: order, statuses, labels to choose from.")},
        "/api/corpus/list": {
            "get": _operation(
                "A part of the list of sentences, most instructive first.",
                query={"start": ("integer", "The first place."), "n": ("integer", "How many, at most 200.")},
            )
        },
        "/api/corpus/{number}": {"get": _operation("A sentence: what is known, and what is inferred.", path=number)},
        "/api/corpus/{number}/step": {
            "post": _operation(
                "Make a step; the answer comes when it is saved, with the rest inferred again.",
                path=number,
                body={
                    "step": ("object", " ".join(STEP.split())),
                    "version": ("integer", "The version of the sentence that the step was made on; 409 if it changed."),
                },
            )
        },
        "/api/undo": {"post": _operation("Take back the last step.")},
        "/api/redo": {"post": _operation("Make the step again that was undone last.")},
        "/api/status": {"get": _operation("How far training and ranking are.")},
        "/api/training": {
            "post": _operation("Train a new model on what is annotated, in the background."),
            "delete": _operation("Stop the training."),
        },
    }


def _operation(
    summary: str,
    *,
    query: dict[str, tuple[str, str]] | None = None,
    path: dict[str, tuple[str, str]] | None = None,
    body: dict[str, tuple[str, str]] | None = None,
) -> Operation:
    problem = {"description": "What was wrong, and what to do, under the key 'error'."}
    found: Operation = {
        "summary": summary,
        "responses": {"200": {"description": "An object.", "content": _json({"type": "object"})}, "422": problem},
    }
    parameters = [_parameter("query", *one) for one in (query or {}).items()]
    parameters += [_parameter("path", *one) for one in (path or {}).items()]
    if parameters:
        found["parameters"] = parameters
    if body:
        described = {name: {"type": kind, "description": text} for name, (kind, text) in body.items()}
        found["requestBody"] = {"content": _json({"type": "object", "properties": described})}
    return found


def _parameter(place: str, name: str, described: tuple[str, str]) -> dict[str, Any]:
    kind, text = described
    required = place == "path"
    return {"name": name, "in": place, "required": required, "description": text, "schema": {"type": kind}}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
