"""``serve``: the page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spectragram.cli.console import note


def serve(
    models: Annotated[list[Path] | None, typer.Argument(metavar="[MODEL]...", help="Model files of any kind.")] = None,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", help="A file to annotate: CoNLL-U, brackets, columns, or text, one sentence a line."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="What to annotate in text: dependency (the default), constituency or tags."),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="More training data in the format of the corpus; may be given several times."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where trained models go; by default beside the corpus.")
    ] = None,
    preset: Annotated[str, typer.Option("--preset", help="Of training: fast, default or best.")] = "fast",
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; other machines can connect only if told so, with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any that is free.")] = 8470,
    token: Annotated[
        bool, typer.Option("--token", help="Ask for a token on this machine too, where other users can connect.")
    ] = False,
) -> None:
    """Show models in the browser, and annotate a corpus with their help; Ctrl-C ends it."""
    from spectragram.serve import serve as run

    def ready(address: str) -> None:
        print(address, flush=True)
        note("open this address in a browser; Ctrl-C ends the server")

    run(
        models or [],
        corpus,
        kind=kind,
        more=data or [],
        out=out,
        preset=preset,
        host=host,
        port=port,
        token=token,
        ready=ready,
    )
