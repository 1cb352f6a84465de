"""How large the clients' updates are, block by block, against what each block may weigh."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import COMPONENTS, INK, PALETTE, canvas, log_scale, styled
from sordino.reporting.runs import Block, Run

__all__ = ["norms_by_block"]

_MOST_NAMED: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A block's mean norm over the rounds, its smallest and largest, and its bound in the last round."""

    name: str
    component: str
    mean: float
    lowest: float
    highest: float
    clip_norm: float | None


def norms_by_block(run: Run) -> Plate | None:
    """Norms of the clients' updates by block, sorted, with each block's clip norm.

    Returns:
        None without debug telemetry, and for fewer than three blocks, which `norms_by_round` shows.
    """
    rows = _rows([line.telemetry.blocks for line in run.rounds if line.telemetry is not None])
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
            axes.set_ylabel(f"{len(rows)} blocks, largest at the top")
        axes.grid(visible=False, axis="y")
        _widen(axes, rows)
        log_scale(axes, "x")
        _legend(axes, rows)
    return Plate(
        name="norms-by-block",
        title="Update norms by block",
        caption=(
            f"Norm of the clients' updates before clipping, for each of the {len(rows)} blocks that are clipped together: "
            "mean over clients and rounds, with the smallest and largest round as a bar. The upright mark is the block's "
            "clip norm in the last round; an update beyond it is scaled down to it."
        ),
        figure=figure,
    )


def _rows(rounds: Sequence[Sequence[Block]]) -> list[_Row]:
    last = {block.name: block for block in rounds[-1]} if rounds else {}
    rows = []
    for name, block in last.items():
        norms = [other.mean_norm for blocks in rounds for other in blocks if other.name == name]
        mean = math.fsum(norms) / len(norms)
        rows.append(
            _Row(
                name=name,
                component=block.component,
                mean=mean,
                lowest=min(norms),
                highest=max(norms),
                clip_norm=block.clip_norm,
            )
        )
    return sorted(rows, key=lambda row: (-row.mean, row.name))


def _draw(axes: Axes, place: int, row: _Row, *, size: float) -> None:
    colour, marker, _ = PALETTE[COMPONENTS[row.component]]
    if row.mean > 0:
        if row.lowest > 0:
            axes.plot([row.lowest, row.highest], [place, place], color=colour, alpha=0.35, linewidth=size / 2)
        axes.plot(row.mean, place, marker=marker, markersize=size, color=colour, zorder=3)
    if row.clip_norm:
        axes.plot(row.clip_norm, place, marker="|", markersize=1.6 * size, markeredgewidth=1.1, color=INK)


def _widen(axes: Axes, rows: Sequence[_Row]) -> None:
    """At least a decade, so that a single block does not fill the axis with its own little spread."""
    norms = [norm for row in rows for norm in (row.lowest, row.highest, row.clip_norm) if norm]
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
    axes.figure.legend(
        handles=handles, loc="outside upper right", ncols=len(handles), handletextpad=0.2, columnspacing=0.9
    )


def _short(name: str) -> str:
    """A tensor's path without what every path has."""
    kept = re.sub(r"\b(weight|default|self_attn|model|layers)\b\.?", "", name).strip(".").replace("lora_", "")
    return re.sub(r"\.+", ".", kept) or name
