"""``sordino plan``: what an experiment will guarantee, before any training, without weights and data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sordino.cli.console import Json, Overrides, print_json, stdout

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["plan"]


def plan(
    file: Annotated[Path | None, typer.Argument(help="Experiment file; without one, the default job.")] = None,
    *,
    overrides: Annotated[list[str] | None, Overrides] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            metavar="voices|MANIFEST",
            help="Also train briefly on synthetic voices, or on public recordings, and recommend an allocation.",
        ),
    ] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Show parameter groups, clip norms, effective noise and epsilon, and what other choices would give.

    Example: sordino plan my.toml --set privacy.allocation.alpha=0.1 --measure voices
    """
    from sordino.experiments import load_federated
    from sordino.experiments.planning import plan_report

    options = load_federated(file, overrides or [], keep_unset=True)
    report = plan_report(options, outlook=True)
    if measure is not None:
        from sordino.experiments.norms import measure_norms, recommend

        norms = measure_norms(options, manifest=None if measure == "voices" else Path(measure))
        report["measured"] = {"norms": dict(norms), **recommend(norms)}
    if as_json:
        print_json(report)
        return
    console = stdout()
    _show_plan(console, report)
    if report["outlook"]:
        _show_outlook(console, report["outlook"], report["unit"])
    _show_words(console, report)


def _show_plan(console: Console, report: dict[str, Any]) -> None:
    components = _table(
        "Trainable parameters and noise by component", "component", "tensors", "parameters", "z_eff seen alone"
    )
    for name, count in report["parameters"].items():
        effective = report["z_eff"]["by_component"].get(name)
        components.add_row(name, str(report["tensors"].get(name, 0)), f"{count:,}", _number(effective))
    components.add_row("all", str(sum(report["tensors"].values())), f"{sum(report['parameters'].values()):,}", "")
    console.print(components)
    norms = _table(
        f"Clip norms by block ({len(report['clip_norms'])}); their squares add up to C^2", "blocks", "clip norm"
    )
    for names, norm in _alike(report["clip_norms"]):
        norms.add_row(names, _number(norm))
    console.print(norms)


def _alike(norms: dict[str, float | None]) -> list[tuple[str, float | None]]:
    """Blocks of one part of the model with the same clip norm in one row."""
    rows: dict[tuple[str, str], tuple[list[str], float | None]] = {}
    for name, norm in norms.items():
        rows.setdefault((name.partition(".")[0], _number(norm)), ([], norm))[0].append(name)
    return [
        (names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more", norm)
        for names, norm in rows.values()
    ]


def _show_outlook(console: Console, outlook: dict[str, Any], unit: str) -> None:
    if outlook["by_alpha"]:
        components = list(outlook["by_alpha"][0]["clip_norms"])
        pools = list(outlook["by_alpha"][0]["z_eff"])
        columns = [*(f"{name} C_g" for name in components), *(f"{name} z_eff" for name in pools)]
        alphas = _table("Alpha-split at other alphas", "alpha", *columns)
        for row in outlook["by_alpha"]:
            ranges = [_range(row["clip_norms"][name]) for name in components]
            alphas.add_row(f"{row['alpha']:g}", *ranges, *(_number(row["z_eff"].get(name)) for name in pools))
        console.print(alphas)
    samplers = _table("Epsilon by how cohorts are drawn", "cohort", "PLD", "RDP")
    for name, figures in outlook["by_sampler"].items():
        samplers.add_row(name, _number(figures["pld"]), _number(figures["rdp"]))
    console.print(samplers)
    targets = _table(
        "Noise multiplier for other targets", *(f"epsilon {target}" for target in outlook["noise_for_epsilon"])
    )
    targets.add_row(*map(_number, outlook["noise_for_epsilon"].values()))
    console.print(targets)
    larger = _table(f"With more {unit}s, at the same noise on the mean", "clients K", "cohort n", "z", "epsilon")
    for row in outlook["by_population"]:
        cells = (row["expected_cohort"], row["noise_multiplier"], row["epsilon"])
        larger.add_row(f"{row['population']:,}", *map(_number, cells))
    console.print(larger)


def _show_words(console: Console, report: dict[str, Any]) -> None:
    epsilon = report["epsilon"]
    console.print(
        f"epsilon after {report['rounds']} rounds: {_number(epsilon['pld'])} (PLD), {_number(epsilon['rdp'])} (RDP) "
        f"at delta {epsilon['delta']:g}; noise multiplier {_number(report['noise_multiplier'])}, expected cohort "
        f"{report['expected_cohort']:g} of {report['population']}.",
        soft_wrap=True,
    )
    if "measured" in report:
        measured = report["measured"]
        norms = ", ".join(f"{name} {_number(norm)}" for name, norm in measured["norms"].items())
        console.print(f"Mean update norms: {norms}. {measured['reason']}", soft_wrap=True, markup=False)
        alpha = "" if measured["alpha"] is None else f" --set privacy.allocation.alpha={measured['alpha']:.2g}"
        console.print(
            f"Recommended: --set privacy.allocation={measured['allocation']}{alpha}", soft_wrap=True, markup=False
        )
    console.print(report["statement"], soft_wrap=True, markup=False)
    console.print(report["z_eff"]["caveat"], soft_wrap=True, markup=False)


def _table(title: str, *columns: str) -> Table:
    from sordino.cli.console import titled_table

    table = titled_table(title)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index or column.startswith("epsilon") else "left")
    return table


def _range(pair: list[float]) -> str:
    low, high = map(_number, pair)
    return low if low == high else f"{low} to {high}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
