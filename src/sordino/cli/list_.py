"""``sordino list``: everything that a config can name, with its options."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from sordino.cli.console import Json, print_json, stdout

__all__ = ["list_methods"]


def list_methods(
    *,
    plugins: Annotated[list[str] | None, typer.Option("--plugin", help="Module that registers methods.")] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """List everything that an experiment file can name: methods, allocations, noises, corpora, tasks and more.

    Example: sordino list
    """
    from rich.table import Table

    table = _families(plugins or [])
    if as_json:
        print_json(table)
        return
    console = stdout()
    for family, members in table.items():
        shown = Table(title=family, title_justify="left")
        for column in ("method", "what it does", "options"):
            shown.add_column(column)
        for name, member in members.items():
            shown.add_row(
                name, member["summary"], ", ".join(f"{key}={value}" for key, value in member["options"].items())
            )
        console.print(shown)


def _families(plugins: list[str]) -> dict[str, Any]:
    from sordino._registry import load_plugins
    from sordino.data import CORPORA, PARTITIONS, SOURCES
    from sordino.data.texts import TEXTS
    from sordino.experiments import TASKS
    from sordino.federated import METHODS
    from sordino.modality import MODES as WITHDRAWALS
    from sordino.modality.budgets import BUDGETS
    from sordino.models import CONNECTORS
    from sordino.privacy import ALLOCATIONS, COHORTS
    from sordino.reporting.trackers import TRACKERS
    from sordino.split.methods import METHODS as SPLIT_METHODS
    from sordino.split.modes import MODES as TRAININGS
    from sordino.split.noise import NOISES

    load_plugins(plugins)
    families = {
        "privacy.allocation": ALLOCATIONS,
        "federated.cohort": COHORTS,
        "federated.method": METHODS,
        "model.connector": CONNECTORS,
        "data.corpus": CORPORA,
        "data.partition": PARTITIONS,
        "data prepare": SOURCES,
        "data.texts": TEXTS,
        "split: privacy.noise": NOISES,
        "split: training": TRAININGS,
        "split: methods": SPLIT_METHODS,
        "modality.mode": WITHDRAWALS,
        "modality.mode.budget": BUDGETS,
        "track --to": TRACKERS,
        "task": TASKS,
    }
    return {
        key: {name: {"summary": _summary(member), "options": _options(member)} for name, member in registry}
        for key, registry in families.items()
    }


def _summary(member: type) -> str:
    return (member.__doc__ or "").strip().split("\n", 1)[0]


def _options(member: Any) -> dict[str, str]:
    fields = [field for field in dataclasses.fields(member) if field.init]
    required = {field.name: "(required)" for field in fields if field.default is dataclasses.MISSING}
    defaults = {field.name: str(field.default) for field in fields if field.default is not dataclasses.MISSING}
    made = {field.name: "(table)" for field in fields if field.default_factory is not dataclasses.MISSING}
    return {**required, **defaults, **made}
