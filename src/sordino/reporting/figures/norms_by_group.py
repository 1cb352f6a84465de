"""How large the clients' updates are, part by part, against what each part may weigh and how loud the noise on it is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import COMPONENTS, GREY, INK, PALETTE, canvas, log_scale, styled
from sordino.reporting.runs import Run
from sordino.reporting.telemetry import Telemetry

__all__ = ["norms_by_group"]

_MOST_NAMED: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A part's mean norm over the rounds, its smallest and largest, and its bound and noise in the last round."""

    name: str
    component: str
    mean: float
    lowest: float
    highest: float
    clip_norm: float | None
    noise: float | None


def norms_by_group(run: Run) -> Plate | None:
    """Norms of the clients' updates by group, or by block where no groups were recorded, sorted.

    Returns:
        None without debug telemetry, and for fewer than three parts, which `norms_by_round` shows.
    """
    rows = _rows([telemetry for _, telemetry in run.observed])
    if len(rows) < 3:
        return None
    named = len(rows) <= _MOST_NAMED
    row_in = 0.24 if len(rows) <= 6 else 0.135 if named else max(4.0 / len(rows), 0.012)
    with styled(**{"ytick.labelsize": 6.0 if len(rows) > 6 else 7.0}):
        figure, axes = canvas(height_in=0.8 + row_in * len(rows))
        for place, row in enumerate(rows):
            _draw(axes, place, row, size=4.0 if named else 1.8)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("update norm (log scale)")
        axes.set_yticks(range(len(rows)) if named else [], [_short(row.name) for row in rows] if named else [])
        axes.tick_params(axis="y", length=0)
        if not named:
            axes.set_ylabel(f"{len(rows)} parts, largest at the top")
        axes.grid(visible=False, axis="y")
        _widen(axes, rows)
        log_scale(axes, "x")
        _legend(axes, rows)
    return Plate(
        name="norms-by-group",
        title="Update norms by part",
        caption=_caption(rows),
        figure=figure,
    )


def _caption(rows: Sequence[_Row]) -> str:
    bound = " Upright mark: its clip norm in the last round; an update beyond it is scaled down."
    noise = " Cross: norm of the noise on that part of the released mean, in the last round."
    return (
        f"Norm of the clients' updates before clipping, for each of {len(rows)} parts: mean over clients and rounds, with "
        f"the smallest and largest round as a bar.{bound if any(row.clip_norm for row in rows) else ''}"
        f"{noise if any(row.noise for row in rows) else ''}"
    )


def _rows(rounds: Sequence[Telemetry]) -> list[_Row]:
    """The last round's groups with what all rounds say of them."""
    if not rounds:
        return []
    norms: dict[str, list[float]] = {}
    for telemetry in rounds:
        for part in telemetry.groups or telemetry.blocks:
            norms.setdefault(part.name, []).append(part.mean_norm)
    last = rounds[-1]
    bounds = {block.name: block.clip_norm for block in last.blocks}
    noise = {group.name: group.noise_norm for group in last.groups}
    rows = [
        _Row(
            name=part.name,
            component=part.component if part.component in COMPONENTS else "mixed",
            mean=math.fsum(norms[part.name]) / len(norms[part.name]),
            lowest=min(norms[part.name]),
            highest=max(norms[part.name]),
            clip_norm=bounds.get(part.name),
            noise=noise.get(part.name),
        )
        for part in last.groups or last.blocks
    ]
    return sorted(rows, key=lambda row: (-row.mean, row.name))


def _draw(axes: Axes, place: int, row: _Row, *, size: float) -> None:
    colour, marker, _ = PALETTE[COMPONENTS[row.component]]
    if row.mean > 0:
        if row.lowest > 0:
            axes.plot([row.lowest, row.highest], [place, place], color=colour, alpha=0.35, linewidth=size / 2)
        axes.plot(row.mean, place, marker=marker, markersize=size, color=colour, zorder=3)
    if row.noise:
        axes.plot(row.noise, place, marker="x", markersize=0.9 * size, markeredgewidth=0.9, color=GREY, zorder=2)
    if row.clip_norm:
        axes.plot(row.clip_norm, place, marker="|", markersize=1.6 * size, markeredgewidth=1.1, color=INK)


def _widen(axes: Axes, rows: Sequence[_Row]) -> None:
    """At least a decade, so that a single block does not fill the axis with its own little spread."""
    norms = [norm for row in rows for norm in (row.lowest, row.highest, row.clip_norm, row.noise) if norm]
    low, high = min(norms, default=0.1) / 1.2, max(norms, default=1.0) * 1.2
    missing = max(1 - math.log10(high / low), 0)
    axes.set_xlim(low / 10 ** (missing / 2), high * 10 ** (missing / 2))


def _legend(axes: Axes, rows: Sequence[_Row]) -> None:
    used = [component for component in COMPONENTS if any(row.component == component for row in rows)]
    handles = [
        Line2D(
            [], [], linestyle="", color=PALETTE[COMPONENTS[name]][0], marker=PALETTE[COMPONENTS[name]][1], label=name
        )
        for name in used
    ]
    if any(row.clip_norm for row in rows):
        handles.append(Line2D([], [], linestyle="", color=INK, marker="|", markersize=7, label="clip norm"))
    if any(row.noise for row in rows):
        handles.append(Line2D([], [], linestyle="", color=GREY, marker="x", label="noise"))
    axes.figure.legend(
        handles=handles,
        loc="outside upper right",
        ncols=len(handles),
        handletextpad=0.1,
        columnspacing=0.6,
        handlelength=1.2,
    )


def _short(name: str) -> str:
    """A tensor's path without what every path has."""
    kept = re.sub(r"\b(weight|default|self_attn|model|layers)\b\.?", "", name).strip(".").replace("lora_", "")
    return re.sub(r"\.+", ".", kept) or name
