"""``sordino privacy``: the guarantee of a run, recomputed from its ledger alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.console import Json, print_json, stdout, titled_table

__all__ = ["privacy"]


def privacy(
    run: Annotated[Path, typer.Argument(help="Folder of a run, or a ledger file.")],
    *,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Recompute the guarantee of a run, or of a node, from its ledger.

    Example: sordino privacy runs/first
    """
    from sordino.privacy import statement_of_run

    statement = statement_of_run(run)
    if as_json:
        print_json(statement.to_json())
        return
    console = stdout()
    charges = "charge" if statement.rounds == 1 else "charges"
    table = titled_table(f"epsilon at delta {statement.terms.delta:g} after {statement.rounds} {charges}")
    for column in ("protected unit", "PLD", "RDP"):
        table.add_column(column, justify="left" if column == "protected unit" else "right")
    for unit, figures in statement.by_unit.items():
        table.add_row(unit, *(_cell(figures, name) for name in ("pld", "rdp")))
    console.print(table)
    console.print(statement.words, soft_wrap=True, markup=False)


def _cell(figures: dict[str, float | str | None], name: str) -> str:
    value = figures[name]
    return f"{value:.4g}" if isinstance(value, float) else f"none: {figures.get(f'{name}_reason', '')}"
