"""Word error rate before and after, one row a speaker or a language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import GREY, PALETTE, canvas, styled
from sordino.reporting.groups import GroupRate

__all__ = ["wer_by_group"]

MOST_NAMED: Final = 60
"""More groups than these get one thin row each, without a name."""


def wer_by_group(groups: Sequence[GroupRate], *, kind: str, resampled: str) -> Plate | None:
    """A dumbbell a group: hollow before, filled after, with the interval of after.

    Args:
        groups: in the order of the rows, from the top.
        kind: what a group is: ``speaker`` or ``language``.
        resampled: what the intervals draw anew, for the caption.

    Returns:
        None if there are fewer than two groups: the overall rate says it already.
    """
    rated = [group for group in groups if group.after is not None]
    if len(rated) < 2:
        return None
    named = len(rated) <= MOST_NAMED
    row_in = 0.135 if named and len(rated) > 8 else 0.2 if named else max(4.5 / len(rated), 0.012)
    with styled(**{"ytick.labelsize": 6.5 if len(rated) > 8 else 7.0}):
        figure, axes = canvas(height_in=0.75 + row_in * len(rated))
        for row, group in enumerate(rated):
            _draw(axes, row, group, small=not named)
        axes.set_ylim(len(rated) - 0.4, -0.6)
        axes.set_xlim(left=0)
        axes.set_xlabel("word error rate (%)")
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_yticks(range(len(rated)) if named else [], [group.name for group in rated] if named else [])
        axes.set_ylabel(kind if named else f"{len(rated)} {kind}s, best at the top")
        _legend(axes, before=any(group.before is not None for group in rated))
    return Plate(
        name=f"wer-by-{kind}",
        title=f"Word error rate by {kind}",
        caption=_caption(rated, kind, resampled),
        figure=figure,
    )


def _draw(axes: Axes, row: int, group: GroupRate, *, small: bool) -> None:
    colour, size = PALETTE[0][0], 1.6 if small else 4.0
    assert group.after is not None  # noqa: S101 - only rated groups come here
    if group.interval is not None:
        low, high = group.interval
        axes.plot([100 * low, 100 * high], [row, row], color=colour, alpha=0.3, linewidth=0.6 if small else 2.6)
    if group.before is not None:
        if not small:
            axes.plot([100 * group.before, 100 * group.after], [row, row], color=GREY, linewidth=0.7)
        axes.plot(
            100 * group.before, row, marker="o", markersize=size, markeredgecolor=GREY, markerfacecolor="white",
            markeredgewidth=0.5 if small else 0.9, clip_on=False, zorder=3,
        )  # fmt: skip
    axes.plot(100 * group.after, row, marker="o", markersize=size, color=colour, zorder=4, clip_on=False)


def _legend(axes: Axes, *, before: bool) -> None:
    colour = PALETTE[0][0]
    handles = [Line2D([], [], marker="o", color=colour, linewidth=2.6, label="after, 95 % interval")]
    handles[0].set_markeredgecolor(colour)
    if before:
        handles.insert(
            0, Line2D([], [], marker="o", linestyle="", markerfacecolor="white", markeredgecolor=GREY, label="before")
        )
    axes.figure.legend(handles=handles, loc="outside upper right", ncols=2, handletextpad=0.4, columnspacing=1.2)


def _caption(groups: Sequence[GroupRate], kind: str, resampled: str) -> str:
    before = "Hollow: before adapting; filled: after. " if any(group.before is not None for group in groups) else ""
    return (
        f"Word error rate of each {kind}, the lowest at the top. {before}Bars: 95 % bootstrap intervals over "
        f"{resampled}, for the model after adapting; none where they would all be the same."
    )
