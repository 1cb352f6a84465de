"""What a tracker is given, and what it does with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from sordino._registry import Registry
from sordino.reporting.runs import Rate, Run
from sordino.reporting.telemetry import Telemetry

__all__ = ["TRACKERS", "Point", "Tracked", "Tracker", "tracked"]

TRACKERS: Final[Registry[Any]] = Registry("tracker", package="sordino.reporting.trackers")


@dataclass(frozen=True, slots=True)
class Point:
    """One value of one curve: its name, the round, and the value."""

    name: str
    round: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracked:
    """All of a run that a tracker sees: curves and texts made from its records, and nothing that could reach for more.

    Attributes:
        label: what the run is called.
        points: the curves.
        texts: the resolved config and the statement of the guarantee.
    """

    label: str
    points: Sequence[Point]
    texts: Mapping[str, str]


class Tracker(ABC):
    """Writes runs in the form that some program shows. Register by name; a plugin may bring its own."""

    name: ClassVar[str]

    @abstractmethod
    def write(self, run: Tracked, folder: Path) -> Path:
        """Writes a run below ``folder``, in place of what was written of it earlier; returns where.

        Raises:
            ConfigError: the tracker's package is not installed.
        """


def tracked(run: Run) -> Tracked:
    """What trackers may see of a run."""
    texts = {"config": run.config_text}
    if run.statement is not None:
        texts["guarantee"] = run.statement.words
    return Tracked(label=run.label, points=tuple(_points(run)), texts=texts)


def _points(run: Run) -> Iterator[Point]:
    for number, rate in run.rates:
        yield from _rate(number, rate)
    for line in run.rounds:
        if line.epsilon is not None:
            yield Point("epsilon", line.number, line.epsilon)
        if line.telemetry is not None:
            yield from _telemetry(line.number, line.telemetry)


def _rate(number: int, rate: Rate) -> Iterator[Point]:
    yield Point("wer", number, rate.wer)
    if rate.ci95 is not None:
        yield Point("wer/ci95_low", number, rate.ci95[0])
        yield Point("wer/ci95_high", number, rate.ci95[1])


def _telemetry(number: int, telemetry: Telemetry) -> Iterator[Point]:
    yield Point("debug/drawn", number, telemetry.drawn)
    yield Point("debug/replies", number, telemetry.replies)
    yield Point("debug/not_finite", number, telemetry.not_finite)
    if not telemetry.counted:
        return
    yield Point("debug/loss", number, telemetry.loss)
    for component, ratio in telemetry.signal_to_noise.items():
        yield Point(f"debug/signal_to_noise/{component}", number, ratio)
    for component, norm in telemetry.components.items():
        yield Point(f"debug/norm/{component}", number, norm)
    for block in telemetry.blocks:
        yield Point(f"debug/mean_norm/{block.name}", number, block.mean_norm)
        yield Point(f"debug/clip_rate/{block.name}", number, block.clip_rate)
        if block.clip_ratio is not None:
            yield Point(f"debug/clip_ratio/{block.name}", number, block.clip_ratio)
        if block.clip_norm is not None:
            yield Point(f"debug/clip_norm/{block.name}", number, block.clip_norm)
