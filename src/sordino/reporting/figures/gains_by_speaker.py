"""What each speaker gains or loses by a personal model, one row a speaker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.lines import Line2D

from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import GREY, LIGHT, PALETTE, canvas, styled

__all__ = ["SpeakerGain", "gains_by_speaker"]

_MOST_NAMED = 60


@dataclass(frozen=True, slots=True)
class SpeakerGain:
    """Word error rates of one speaker, as fractions.

    Attributes:
        name: of the speaker.
        group: that the speaker belongs to; may be empty.
        baseline: under the method that differences are taken to.
        shown: under the method that the figure is about.
        others: under all other methods.
    """

    name: str
    group: str
    baseline: float
    shown: float
    others: tuple[float, ...]


def gains_by_speaker(gains: Sequence[SpeakerGain], *, baseline: str, shown: str) -> Plate | None:
    """A dot a speaker: how many points fewer errors than under the baseline, to the right if it helps.

    Args:
        gains: of all speakers, those of a group together.
        baseline: name of the method that differences are taken to.
        shown: name of the method that the filled dots are of.

    Returns:
        None if there are fewer than two speakers.
    """
    if len(gains) < 2:
        return None
    rows = sorted(
        enumerate(gains), key=lambda pair: (_first_of(gains, pair[1].group), pair[1].baseline - pair[1].shown)
    )
    named, colour = len(rows) <= _MOST_NAMED, PALETTE[0][0]
    with styled(**{"ytick.labelsize": 6.0 if len(rows) > 8 else 7.0}):
        figure, axes = canvas(height_in=0.8 + len(rows) * (0.125 if named else 4.5 / len(rows)))
        axes.axvline(0, color=GREY, linewidth=0.9, zorder=1)
        for row, (_, gain) in enumerate(rows):
            others = [100 * (gain.baseline - other) for other in gain.others]
            axes.plot(
                others, [row] * len(others), linestyle="", marker="o", markersize=2.2, color=GREY, alpha=0.45, zorder=2
            )
            axes.plot(100 * (gain.baseline - gain.shown), row, marker="o", markersize=4.2, color=colour, zorder=3)
        for row, ((_, before), (_, after)) in enumerate(pairwise(rows)):
            if before.group != after.group:
                axes.axhline(row + 0.5, color=LIGHT, linewidth=0.9, zorder=0)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)) if named else [], [gain.name for _, gain in rows] if named else [])
        axes.set_xlabel(f"points of word error rate gained on {baseline}")
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        handles = [Line2D([], [], marker="o", linestyle="", color=colour, markersize=4.2, label=shown)]
        if any(gain.others for gain in gains):
            handles.append(
                Line2D([], [], marker="o", linestyle="", color=GREY, alpha=0.45, markersize=2.2, label="other methods")
            )
        axes.figure.legend(handles=handles, loc="outside upper right", ncols=2, handletextpad=0.3, columnspacing=1.2)
    return Plate(
        name="gains-by-speaker", title="What each speaker gains", caption=_caption(baseline, shown), figure=figure
    )


def _first_of(gains: Sequence[SpeakerGain], group: str) -> int:
    return next(place for place, gain in enumerate(gains) if gain.group == group)


def _caption(baseline: str, shown: str) -> str:
    return (
        f"Points of word error rate that each speaker's own model has less than under {baseline}: right of 0 is better. "
        f"Filled: {shown}; small: each other method. Lines part the groups. A speaker says few words, so a single error is "
        "some points."
    )
