"""The records of an audit, as its page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from sordino.reporting.formatting import DASH, interval, percent
from sordino.reporting.reading import read_json, reading
from sordino.reporting.tables import Cell, Column, Table

__all__ = ["Attack", "Audit", "holds_audit", "read_audit"]

_FILE: Final = "audit.json"

_NOTE: Final = (
    "Success is the share of right answers; somebody who sees nothing has the rate of chance. The intervals are exact "
    "(Clopper and Pearson) for independent answers. That an attack fails here does not show that every attack must: "
    "only the guarantee says that."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """How often one attack was right.

    Attributes:
        name: of the attack.
        asks: the question that it answers.
        success: share of right answers.
        chance: share that a blind guess would reach.
        ci95: interval of ``success``.
        tried: number of answers.
    """

    name: str
    asks: str
    success: float
    chance: float
    ci95: tuple[float, float]
    tried: int

    @property
    def above_chance(self) -> bool:
        """Whether chance lies below the whole interval."""
        return self.ci95[0] > self.chance


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The records of one audit.

    Attributes:
        label: the folder's name.
        path: the folder.
        claimed: epsilon for a client; None where nothing is claimed.
        lower_bound: epsilon is at least this, at ``confidence``.
        delta: of both.
        confidence: of the lower bound.
        refuted: whether the bound is above the claim.
        statement: what the audited settings guarantee, in the words of `sordino.privacy`.
        simulation: what the audit itself was.
        attacks: all of them.
        evidence: the guesses that gave the bound.
        cannot_see: which faults would stay hidden, in sentences.
        size: canaries, ordinary clients and rounds.
        seconds: how long it took.
    """

    label: str
    path: Path
    claimed: float | None
    lower_bound: float
    delta: float
    confidence: float
    refuted: bool
    statement: str
    simulation: str
    attacks: Sequence[Attack]
    evidence: Mapping[str, Any]
    cannot_see: Sequence[str]
    size: Mapping[str, int]
    seconds: float

    @property
    def verdict(self) -> str:
        """What came out, in a few words."""
        if self.claimed is None:
            return "Nothing is claimed"
        return "The claim is refuted" if self.refuted else "The claim stands"

    @cached_property
    def table(self) -> Table:
        """A row an attack."""
        columns = [
            Column("attack", numeric=False),
            Column("success"),
            Column("95 % interval"),
            Column("chance"),
            Column("answers"),
        ]
        rows = [
            [
                Cell(attack.name, attack.asks),
                Cell(percent(attack.success), strong=attack.above_chance),
                Cell(interval(attack.ci95)),
                Cell(percent(attack.chance)),
                Cell(f"{attack.tried:,}" if attack.tried else DASH),
            ]
            for attack in self.attacks
        ]
        return Table(name="attacks", columns=columns, rows=rows, note=_NOTE)


def holds_audit(folder: Path) -> bool:
    """Whether a folder is that of an audit."""
    return (folder / _FILE).is_file()


def read_audit(folder: Path) -> Audit:
    """Reads ``audit.json``.

    Raises:
        DataError: it is damaged.
    """
    path = folder / _FILE
    table = read_json(path) or {}
    with reading(path):
        epsilon = table["epsilon"]
        return Audit(
            label=folder.resolve().name,
            path=folder,
            claimed=epsilon["claimed"],
            lower_bound=float(epsilon["lower_bound"]),
            delta=float(epsilon["delta"]),
            confidence=float(epsilon["confidence"]),
            refuted=bool(epsilon["refuted"]),
            statement=str(table["statement"]),
            simulation=str(table["simulation"]),
            attacks=[_attack(str(name), row) for name, row in table["attacks"].items()],
            evidence=dict(table["evidence"]),
            cannot_see=[str(sentence) for sentence in table["cannot_see"]],
            size={str(name): int(count) for name, count in table["size"].items()},
            seconds=float(table["seconds"]),
        )


def _attack(name: str, row: Mapping[str, Any]) -> Attack:
    low, high = row["ci95"]
    return Attack(
        name=name,
        asks=str(row["asks"]),
        success=float(row["success"]),
        chance=float(row["chance"]),
        ci95=(float(low), float(high)),
        tried=int(row["tried"]),
    )
