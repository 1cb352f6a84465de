"""A quantity of debug telemetry over the rounds of a run, or of several as their mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from sordino.reporting.runs import Run
from sordino.reporting.telemetry import Block, Telemetry

__all__ = ["Series", "clip_rates_by_component", "clip_ratios_by_component", "over_rounds"]

Series: TypeAlias = Mapping[str, Sequence[tuple[int, float]]]
"""For each component the rounds and the quantity's value in each."""


def over_rounds(runs: Iterable[Run], quantity: Callable[[Telemetry], Mapping[str, float]]) -> Series:
    """The quantity by component and round, averaged over the runs that recorded it."""
    found: dict[str, dict[int, list[float]]] = {}
    for run in runs:
        for number, telemetry in run.observed:
            for component, value in quantity(telemetry).items():
                found.setdefault(component, {}).setdefault(number, []).append(value)
    return {
        component: [(number, _mean(values)) for number, values in sorted(rounds.items())]
        for component, rounds in found.items()
    }


def clip_rates_by_component(telemetry: Telemetry) -> Mapping[str, float]:
    """Fraction of clients clipped, mean over the blocks of each component that have a bound."""
    return _by_component(telemetry, lambda block: block.clip_rate)


def clip_ratios_by_component(telemetry: Telemetry) -> Mapping[str, float]:
    """Mean of min(1, C_b / norm), likewise, where it was recorded."""
    return _by_component(telemetry, lambda block: block.clip_ratio)


def _by_component(telemetry: Telemetry, value: Callable[[Block], float | None]) -> Mapping[str, float]:
    found: dict[str, list[float]] = {}
    for block in telemetry.blocks:
        known = value(block)
        if block.clip_norm is not None and known is not None:
            found.setdefault(block.component, []).append(known)
    return {component: _mean(values) for component, values in found.items()}


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
