"""From files to a running server."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spectragram.errors import InputError, MissingExtraError
from spectragram.serve.annotations import AnnotationFile
from spectragram.serve.formats import read_annotations
from spectragram.serve.lessons import Plan
from spectragram.serve.security import Policy, is_loopback, policy_for
from spectragram.serve.shelf import Shelf
from spectragram.serve.workbench import Workbench, tag_column_for

__all__ = ["DEFAULT_PORT", "open_workbench", "serve"]

DEFAULT_PORT = 8470
"""Where the page is unless told otherwise. Chosen by hand among ports that no well-known service uses."""


def serve(
    models: Sequence[Path],
    corpus: Path | None = None,
    *,
    kind: str | None = None,
    more: Sequence[Path] = (),
    out: Path | None = None,
    preset: str = "fast",
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    token: bool = False,
    ready: Callable[[str], Any] = print,
) -> None:
    """Serve models and an annotation file until interrupted.

    Parameters
    ----------
    models : sequence of paths
        Model files of any kind.
    corpus : path, optional
        The file to annotate: CoNLL-U, brackets, columns, or text.
    kind : {"dependency", "constituency", "tags"}, optional
        What to annotate in text.
    more : sequence of paths
        Training data beside the annotation file, in its format.
    out : path, optional
        Where trained models go; by default beside the annotation file.
    preset : {"fast", "default", "best"}
        Of training.
    host, port : str and int
        Where to listen; port 0 takes any that is free. Beyond the loopback address a token is needed.
    token : bool
        Whether to ask for a token on the loopback address too, where other users of the machine can connect.
    ready : callable
        Called with the address of the page once it can be opened.
    """
    _require_extra()
    if not models and corpus is None:
        raise InputError("nothing to serve", remedy="give model files, or --corpus FILE to annotate, or both")
    shelf = Shelf.load(models)
    workbench = None if corpus is None else open_workbench(corpus, shelf, models, kind, more, out, preset)
    policy = policy_for(host, token=token)
    _run(shelf, workbench, policy, host, port, ready)


def open_workbench(
    corpus: Path,
    shelf: Shelf,
    models: Sequence[Path] = (),
    kind: str | None = None,
    more: Sequence[Path] = (),
    out: Path | None = None,
    preset: str = "fast",
) -> Workbench:
    """Read the annotation file, and the model that was trained on it before unless models were given."""
    contents = read_annotations(corpus, kind, tag_column=tag_column_for(shelf))
    if not contents.records:
        raise InputError("contains no sentences", path=corpus, remedy="give at least one")
    trained = out or contents.path.with_suffix(".sgm")
    if out is None and any(trained.resolve() == path.resolve() for path in models):
        trained = contents.path.with_suffix(".new.sgm")  # training must not replace a model that was not made here
    elif trained.exists() and not models:
        for name in (loaded := Shelf.load([trained])).names():
            shelf.put(name, loaded.get(name))
    plan = Plan("", contents.path, tuple(more), trained, preset, tag_column_for(shelf))
    return Workbench(AnnotationFile(contents), shelf, plan)


def _require_extra() -> None:
    for package in ("starlette", "uvicorn"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "serve")


def _run(
    shelf: Shelf, workbench: Workbench | None, policy: Policy, host: str, port: int, ready: Callable[[str], Any]
) -> None:
    import uvicorn

    from spectragram.serve.app import make_app

    listening = _bound(host, port)
    address = f"http://{_shown(host)}:{listening.getsockname()[1]}/"
    config = uvicorn.Config(
        make_app(shelf, workbench, policy), log_level="warning", access_log=False, server_header=False, ws="none"
    )
    server = uvicorn.Server(config)
    ready(address + (f"?token={policy.token}" if policy.token else ""))
    try:
        server.run(sockets=[listening])
    finally:
        if workbench is not None:
            workbench.training.cancel()


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens; requests wait in it from this moment on."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(1024)  # so many clients may connect at the same moment
    except OSError as trouble:
        raise InputError(
            f"cannot listen on {host}:{port} ({trouble.strerror})", remedy="choose another --port or --host"
        ) from None
    return bound


def _shown(host: str) -> str:
    """The host as it is written in an address."""
    if is_loopback(host) and ":" not in host:
        return host
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
