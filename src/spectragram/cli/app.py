"""The verbs. ``train`` and ``demo`` name a kind, ``extract`` makes automata, ``serve`` takes models of any kind; the
others find the kind in the model file.

Each kind has a module ``spectragram.cli.<kind>`` with a function per verb; their signatures are the options.
Those modules import the estimators inside the functions, so that help and errors answer at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from spectragram._version import __version__
from spectragram.cli.console import note
from spectragram.cli.distil import distil
from spectragram.cli.export_json import export_json
from spectragram.cli.extract import extract
from spectragram.cli.options import train_command, with_cluster
from spectragram.cli.rank import rank
from spectragram.cli.running import careful, ends_quietly
from spectragram.cli.serve import serve
from spectragram.cli.surprisal import surprisal
from spectragram.cli.warm_up import warm_up
from spectragram.errors import InputError
from spectragram.kinds import KINDS, kind_named

COUNTS_KIND = "word-pair-counts"
"""What files of counts call themselves (``spectragram.clusters.counts``, which is slow to import)."""
PAPERS = ("balle-2014", "cohen-2012", "cohen-collins-2014", "stratos-2013", "stratos-2014")
ON_CLUSTERS = ("predict", "evaluate")
"""Verbs of models whose work can be cut into shards."""
HELP = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    no_args_is_help=True,
    context_settings=HELP,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Latent-variable models of language, learned from moments: one pass of counting, one decomposition.",
)


class _Kinds(TyperGroup):
    """The kinds that can be trained; another name gets the list of them."""

    def resolve_command(self, context: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-"):
            kind_named(args[0])
        return super().resolve_command(context, args)


train_app = typer.Typer(cls=_Kinds, no_args_is_help=True, rich_markup_mode=None, context_settings=HELP)
app.add_typer(train_app, name="train", help="Train a model: spectragram train KIND DATA --out MODEL")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"spectragram {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass


def commands(kind: str) -> ModuleType:
    """The module with the verbs of a kind."""
    return import_module(f"spectragram.cli.{kind_named(kind).name}")


def _register_train() -> None:
    for kind in KINDS.values():
        command = train_command(kind, commands(kind.name).train)
        train_app.command(kind.name, help=f"Learn {kind.task}.")(careful(command))


def _verb_of_model(verb: str, summary: str) -> None:
    """A verb whose options depend on the kind of the model it is given."""

    def run(context: typer.Context) -> None:
        args = list(context.args)
        if not args or args in (["--help"], ["-h"]):
            print(f"Usage: spectragram {verb} MODEL ...\n\n  {summary}\n")
            print(f"  The options depend on the kind of MODEL: spectragram {verb} MODEL --help")
            raise typer.Exit(0 if args else 2)
        model = model_argument(verb, args)
        if model is None:
            raise InputError(f"no MODEL given to '{verb}'", remedy=f"see: spectragram {verb} --help")
        _alone(_function(_kind_of(model, verb), verb))(args=args, prog_name=f"spectragram {verb}")

    settings = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    app.command(verb, help=summary, context_settings=settings)(run)


def _function(kind: str, verb: str) -> Callable[..., None]:
    """What a verb runs for a kind; every kind exports JSON, some other formats too."""
    function = getattr(commands(kind), verb, export_json)
    return with_cluster(function) if verb in ON_CLUSTERS else function


@cache
def _alone(function: Callable[..., None]) -> Any:
    """A command line that is this function and nothing else."""
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, context_settings=HELP
    )
    alone.command()(careful(function, whole=True))
    return typer.main.get_command(alone)


def options_of(verb: str) -> dict[str, bool]:
    """All options that a verb has for any kind, and whether each is followed by a value."""
    found: dict[str, bool] = {}
    for kind in KINDS:
        for parameter in _alone(_function(kind, verb)).params:
            if parameter.param_type_name == "option":
                takes_value = not getattr(parameter, "is_flag", False)
                found |= dict.fromkeys((*parameter.opts, *parameter.secondary_opts), takes_value)
    return found


def model_argument(verb: str, args: list[str]) -> str | None:
    """The first argument that is neither an option nor the value of one; None where there is no such argument."""
    if args and not args[0].startswith("-"):
        return args[0]
    takes_value = options_of(verb)
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            return next(rest, None)
        if not arg.startswith("-") or arg == "-":
            return arg
        if takes_value.get(arg, False):
            next(rest, None)
    return None


def _kind_of(model: str, verb: str) -> str:
    from spectragram import storage

    if model == "-":
        raise InputError("a model cannot come from standard input", remedy=f"spectragram {verb} MODEL -")
    kind = storage.read_header(model).kind
    if kind == COUNTS_KIND:
        remedy = "counts are the DATA of: spectragram train clusters"
        raise InputError("holds counts of words, not a model", path=model, remedy=remedy)
    return kind_named(kind).name


@app.command()
@ends_quietly
def demo(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help=f"One of {', '.join(KINDS)}.")] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FOLDER", help="Only write the English corpus, in every format.")
    ] = None,
) -> None:
    """Train, use and score models on the embedded corpora."""
    if write is not None:
        _write_corpus(write)
        return
    if kind is not None:
        commands(kind).demo()
        return
    for name, known in KINDS.items():
        note(f"\n== {name}: {known.task}")
        commands(name).demo()


def _write_corpus(folder: Path) -> None:
    """Training and test parts of the embedded corpus, in the formats of all kinds."""
    from spectragram.synthetic.english import write_english

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as trouble:
        raise InputError(f"is not a folder ({trouble.strerror})", path=folder, remedy="give a new folder") from None
    parts = (("train", 2000, 1), ("test", 200, 2))
    written = [path for part, n, seed in parts for path in write_english(folder, n, seed, part).values()]
    print(*written, sep="\n")  # all at once, whatever reads this


@app.command()
@ends_quietly
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=f"One of {', '.join(PAPERS)}.")],
    data: Annotated[Path, typer.Option("--data", help="Folder that holds the corpora.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="A subset that takes minutes.")] = False,
) -> None:
    """Print a paper's tables, theirs and ours side by side."""
    from spectragram.reproduce import reproduce as run

    print(run(paper, data, out, quick=quick).markdown())


_register_train()
_verb_of_model("predict", "Apply a model to INPUT: exactly one record out per record in.")
_verb_of_model("evaluate", "Score a model against GOLD; --json prints one object.")
_verb_of_model("inspect", "Show what a model learned; --html FILE adds pictures.")
_verb_of_model("export", "Write a model in another FORMAT.")
app.command("warm-up")(ends_quietly(warm_up))
app.command("extract")(careful(extract))
app.command("surprisal")(careful(surprisal))
app.command("rank")(careful(rank))
app.command("distil")(careful(distil))
app.command("serve")(ends_quietly(serve))


@cache
def command() -> Any:
    """The whole command tree; made once, since that takes longer than many commands."""
    return typer.main.get_command(app)
