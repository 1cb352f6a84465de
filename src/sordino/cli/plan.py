"""``sordino plan``: what an experiment will guarantee, before any training, without weights and data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sordino.cli.console import Json, Overrides, print_json, stdout

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["plan"]


def plan(
    file: Annotated[Path | None, typer.Argument(help="Experiment file; without one, the default job.")] = None,
    *,
    overrides: Annotated[list[str] | None, Overrides] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Show parameter groups, clip norms, effective noise and epsilon.

    Example: sordino plan my.toml --set privacy.allocation.alpha=0.1
    """
    from sordino.experiments import load_experiment
    from sordino.experiments.planning import plan_report

    report = plan_report(load_experiment(file, overrides or []))
    if as_json:
        print_json(report)
    else:
        _show(stdout(), report)


def _show(console: Console, report: dict[str, Any]) -> None:
    from rich.table import Table

    components = Table(title="Trainable parameters and noise by component")
    for column in ("component", "parameters", "z_eff seen alone"):
        components.add_column(column, justify="left" if column == "component" else "right")
    for name, count in report["parameters"].items():
        effective = report["z_eff"]["by_component"].get(name)
        components.add_row(name, f"{count:,}", _number(effective))
    console.print(components)
    norms = Table(title=f"Clip norms of {len(report['clip_norms'])} blocks; their squares add up to C^2")
    norms.add_column("block")
    norms.add_column("clip norm", justify="right")
    for name, norm in report["clip_norms"].items():
        norms.add_row(name, _number(norm))
    console.print(norms)
    epsilon = report["epsilon"]
    console.print(
        f"epsilon after {report['rounds']} rounds: {_number(epsilon['pld'])} (PLD), {_number(epsilon['rdp'])} (RDP) "
        f"at delta {epsilon['delta']:g}; noise multiplier {_number(report['noise_multiplier'])}, expected cohort "
        f"{report['expected_cohort']:g} of {report['population']}.",
        soft_wrap=True,
    )
    console.print(report["statement"], soft_wrap=True, markup=False)
    console.print(report["z_eff"]["caveat"], soft_wrap=True, markup=False)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
