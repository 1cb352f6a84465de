"""The application that the verbs belong to."""

from __future__ import annotations

from typing import Annotated

import typer

from sordino import __version__
from sordino.cli import (
    audit,
    compare,
    config,
    data,
    evaluate,
    flower,
    init,
    list_,
    modality,
    plan,
    privacy,
    report,
    run,
    split,
    track,
    transcribe,
)

__all__ = ["app"]

app = typer.Typer(
    help="Adapt speech and language models to private data, and say truthfully how private that was.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"sordino {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=lambda value: _version(wanted=value)
        ),
    ] = False,
) -> None:
    """Both options act before any command: `main` looks for the first, the second has its own callback."""


app.command("init")(init.init)
app.command("run")(run.run)
app.command("compare")(compare.compare)
app.command("plan")(plan.plan)
app.command("evaluate")(evaluate.evaluate)
app.command("transcribe")(transcribe.transcribe)
app.command("privacy")(privacy.privacy)
app.command("audit")(audit.audit)
app.command("report")(report.report)
app.command("track")(track.track)
app.command("list")(list_.list_methods)
app.add_typer(config.app, name="config")
app.add_typer(data.app, name="data")
app.add_typer(flower.app, name="flower")
app.add_typer(modality.app, name="modality")
app.add_typer(split.app, name="split")
