"""``sordino config``: what an experiment file resolves to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.console import Json, Overrides, print_json

__all__ = ["app"]

app = typer.Typer(help="Look at experiment files.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    pass


@app.command("show")
def show(
    file: Annotated[Path | None, typer.Argument(help="Experiment file; without one, the default job.")] = None,
    *,
    overrides: Annotated[list[str] | None, Overrides] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Print the experiment with its defaults, parents and overrides filled in.

    Example: sordino config show my.toml --set seed=3
    """
    from sordino.config import dump, to_toml
    from sordino.experiments import load_experiment

    options = load_experiment(file, overrides or [])
    if as_json:
        print_json(dump(options))
    else:
        typer.echo(to_toml(options), nl=False)
