"""Where text goes: results that scripts read to stdout, words for people to stderr."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from sordino.reporting.tables import Table

__all__ = ["Json", "Overrides", "percent", "print_json", "show_table", "stderr", "stdout", "titled_table"]

Json = typer.Option("--json", help="Print the result as JSON to stdout.")
Overrides = typer.Option(
    "--set", help="Override a key, e.g. --set privacy.epsilon=8. May be repeated.", metavar="KEY=VALUE"
)


def stderr() -> Console:
    """The console for people."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def stdout() -> Console:
    """The console for a command's own result in human form."""
    from rich.console import Console

    return Console(highlight=False)


def print_json(table: Mapping[str, Any]) -> None:
    """One JSON object to stdout."""
    typer.echo(json.dumps(table, indent=2, ensure_ascii=False, allow_nan=False))


def percent(fraction: float | None) -> str:
    """A rate for people: ``12.3 %``, or a dash."""
    return "-" if fraction is None else f"{100 * fraction:.1f} %"


def titled_table(title: str) -> RichTable:
    """An empty table that is as wide as its title, which else is broken over several lines."""
    from rich.table import Table

    return Table(title=title, min_width=len(title))


def show_table(console: Console, table: Table) -> None:
    """A report's table on the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=SIMPLE_HEAD, caption=Text(table.note), caption_justify="left")
    for column in table.columns:
        shown.add_column(Text(column.title), justify="right" if column.numeric else "left")
    for row in table.rows:
        shown.add_row(*(Text(f"{cell.text} ({cell.detail})" if cell.detail else cell.text) for cell in row))
    console.print(shown)
