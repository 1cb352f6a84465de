"""How every figure looks: one column of a paper wide, quiet, and readable without colour."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

__all__ = [
    "COMPONENTS",
    "COMPONENT_LABELS",
    "GREY",
    "INK",
    "LIGHT",
    "PALETTE",
    "WIDTH_IN",
    "canvas",
    "legend",
    "log_scale",
    "series",
    "styled",
    "trace",
    "whole_rounds",
]

WIDTH_IN: Final = 3.4
"""One column of a two-column paper, inches; on a phone it fills the screen at nearly its own size."""

_LINE_IN: Final = 0.145
"""Height of a line of a legend, inches."""

_LETTERS: Final = 24
"""Width of a label in a legend of two columns."""

INK: Final = "#1d2329"
GREY: Final = "#69727d"
LIGHT: Final = "#dfe3e8"

PALETTE: Final = (
    ("#0072b2", "o", "-"),
    ("#d55e00", "s", "--"),
    ("#009e73", "D", "-."),
    ("#a3528a", "^", ":"),
    ("#8a6d00", "v", (0, (5, 1, 1, 1, 1, 1))),
    ("#3b3f8f", "P", (0, (1, 1))),
    ("#56717f", "X", (0, (8, 2))),
)
"""Colour, marker and line of the first, second, ... series: hues that stay apart in every kind of colour blindness (after
Okabe and Ito, darkened to be read on white), and a shape each for who sees or prints none."""

COMPONENTS: Final[Mapping[str, int]] = {"encoder": 0, "connector": 2, "decoder": 1, "all": 6, "mixed": 3}
"""Index in `PALETTE` of each component, the same in every figure."""

COMPONENT_LABELS: Final[Mapping[str, str]] = {"all": "whole update", "mixed": "other pool"}
"""What legends call the components that are none."""

_RC: Final[Mapping[str, Any]] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: every machine measures text alike
    "font.size": 7.5,
    "text.color": INK,
    "text.parse_math": False,  # labels come from data; a speaker called $x$ is no formula
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelsize": 7.5,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LIGHT,
    "grid.linewidth": 0.5,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.0,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "figure.dpi": 100,
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "sordino",  # the same records give the same file
}


@contextmanager
def styled(**changes: Any) -> Iterator[None]:
    """Applies the style while a figure is made or written, and leaves other users of matplotlib alone."""
    settings: Any = {**_RC, **changes}
    with mpl.rc_context(settings):
        yield


def canvas(*, height_in: float = 2.3) -> tuple[Figure, Axes]:
    """An empty figure of the common width with one pair of axes; pyplot and its global state are not involved."""
    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    axes = figure.add_subplot()
    return figure, axes


def series(index: int) -> tuple[str, str, Any]:
    """Colour, marker and line of the series of this index; after the last colour the lines change against the colours."""
    around, place = divmod(index, len(PALETTE))
    colour, marker, _ = PALETTE[place]
    return colour, marker, PALETTE[(place + around) % len(PALETTE)][2]


def trace(axes: Axes, points: Sequence[tuple[float, float]], look: tuple[str, str, Any], *, label: str = "") -> None:
    """A line through the points with at most ten markers.

    Args:
        axes: to draw on.
        points: pairs of x and y.
        look: colour, marker and line, as `series` or `PALETTE` gives them.
        label: for the legend.
    """
    colour, marker, line = look
    at, values = zip(*points, strict=True)
    axes.plot(
        at, values, color=colour, marker=marker, linestyle=line, markevery=math.ceil(len(points) / 10), zorder=3,
        label=label or None,
    )  # fmt: skip


def legend(figure: Figure, handles: Sequence[Artist] = (), **spacing: float) -> None:
    """A legend above the axes, in as many columns as its labels leave room for; the figure grows by its lines.

    Args:
        figure: with labelled lines.
        handles: what to list instead of those.
        spacing: matplotlib's, in font sizes.
    """
    listed = list(handles) or list({str(one.get_label()): one for one in _labelled(figure)}.values())
    labels = [textwrap.fill(str(one.get_label()), _LETTERS) for one in listed]
    longest = max(len(line) for label in labels for line in label.split("\n"))
    columns = min(2 if longest > 12 else 3, len(labels))
    rows = math.ceil(len(labels) / columns)
    lines = max(
        sum(1 + label.count("\n") for label in labels[start : start + rows]) for start in range(0, len(labels), rows)
    )
    figure.set_figheight(figure.get_figheight() + _LINE_IN * (lines - 1))
    figure.legend(listed, labels, loc="outside upper left", ncols=columns, **{"columnspacing": 1.0, **spacing})


def _labelled(figure: Figure) -> Sequence[Artist]:
    return [one for axes in figure.axes for one in axes.get_legend_handles_labels()[0]]


def whole_rounds(axes: Axes) -> None:
    """Rounds along x: whole numbers, without vertical grid lines."""
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=False, axis="x")


def log_scale(axes: Axes, which: Literal["x", "y"]) -> None:
    """A logarithmic axis with plain numbers, at 1, 2 and 5 of each decade where there is room.

    Args:
        axes: whose limits are set already.
        which: the axis.
    """
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 300 else (1,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1000 else f"{value:g}")
