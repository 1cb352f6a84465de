"""``sordino audit``: attack an experiment, and compare what that proves with what is claimed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sordino.cli.console import Json, Overrides, percent, print_json, stderr

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["audit"]


def audit(
    target: Annotated[Path, typer.Argument(metavar="RUN|FILE", help="Folder of a run, or an experiment file.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the audit; made under runs/ if not given.")
    ] = None,
    overrides: Annotated[list[str] | None, Overrides] = None,
    canaries: Annotated[int, typer.Option("--canaries", help="Made-up clients, each put in by a coin.")] = 2000,
    clients: Annotated[int, typer.Option("--clients", help="Ordinary clients that train beside them.")] = 4,
    membership: Annotated[
        bool, typer.Option("--membership", help="Run once more with everybody in by a coin, and ask the model who was.")
    ] = False,
    shadows: Annotated[
        int, typer.Option("--shadows", help="With --membership: runs that the attacker makes for comparison.")
    ] = 0,
    updates: Annotated[
        bool, typer.Option("--updates", help="Ask single updates, bare and released, what was said and by whom.")
    ] = False,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Attack an experiment with planted clients and report a lower bound on its epsilon.

    Exits with 1 if the bound is above the claim.

    Examples:
    sordino audit my.toml --set privacy.epsilon=1
    sordino audit runs/first --canaries 5000 --json
    """
    from datetime import datetime

    from sordino.experiments import load_federated
    from sordino.experiments.auditing import AuditSize, audit_experiment
    from sordino.records import RunFolder
    from sordino.reporting import write_report

    console = stderr()
    size = AuditSize(canaries=canaries, clients=clients, membership=membership, shadows=shadows, updates=updates)
    options = load_federated(RunFolder.open(target).config if target.is_dir() else target, overrides or [])
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    folder = out or Path("runs") / f"audit-{target.stem}-{stamp}"
    result = audit_experiment(
        options, folder, size=size, note=lambda text: console.print(text, soft_wrap=True, markup=False)
    )
    page = folder / "report.html"
    write_report([folder], page)
    if as_json:
        print_json(result)
    _show(console, result)
    console.print(f"look at {page}", soft_wrap=True, markup=False)
    if result["epsilon"]["refuted"]:
        raise typer.Exit(1)


def _show(console: Console, result: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(title="Attacks")
    for column in ("attack", "success", "95 % interval", "chance"):
        table.add_column(column, justify="left" if column == "attack" else "right")
    for name, attack in result["attacks"].items():
        low, high = map(percent, attack["ci95"])
        table.add_row(name, percent(attack["success"]), f"{low} to {high}", percent(attack["chance"]))
    console.print(table)
    epsilon = result["epsilon"]
    claimed = "nothing is claimed" if epsilon["claimed"] is None else f"claimed {epsilon['claimed']:.4g}"
    console.print(
        f"epsilon for a client at delta {epsilon['delta']:g}: {claimed}; proved to be at least "
        f"{epsilon['lower_bound']:.4g}, at {100 * epsilon['confidence']:g} % confidence.",
        soft_wrap=True,
    )
    if epsilon["refuted"]:
        console.print("THE CLAIM IS REFUTED: let nothing out that was made with these settings.", soft_wrap=True)
    console.print(f"done in {result['seconds']:.0f} s", soft_wrap=True)
