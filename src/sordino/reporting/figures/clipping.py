"""How often updates are clipped and how much of them is left, and how that changes over the rounds."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sordino.reporting.comparison import Variant
from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import (
    COMPONENT_LABELS,
    COMPONENTS,
    PALETTE,
    WIDTH_IN,
    canvas,
    legend,
    styled,
    trace,
    whole_rounds,
)
from sordino.reporting.runs import Run
from sordino.reporting.series import Series, clip_rates_by_component, clip_ratios_by_component, over_rounds
from sordino.reporting.telemetry import Block

__all__ = ["clip_rates", "clip_ratios", "clipping_dynamics"]

_RATIO: Final = (
    "what was left of the clients' updates by clipping, the mean over clients of min(1, clip norm / norm): 100 % is not "
    "clipped at all"
)


def clip_rates(run: Run) -> Plate | None:
    """Fraction of clients whose update is clipped, by component; None without debug telemetry or without bounds."""
    return _plate(
        run,
        over_rounds([run], clip_rates_by_component),
        lambda block: block.clip_rate,
        name="clip-rates",
        title="Clip rate by round",
        label="clients clipped (%)",
        caption="Percentage of clients for whom {what} was larger than its clip norm and was scaled down.",
        band="from the least to the most clipped",
    )


def clip_ratios(run: Run) -> Plate | None:
    """What clipping leaves of the updates, by component; None where it was not recorded."""
    return _plate(
        run,
        over_rounds([run], clip_ratios_by_component),
        lambda block: block.clip_ratio,
        name="clip-ratios",
        title="Clip ratio by round",
        label="left of the norm (%)",
        caption=f"Of {{what}}, {_RATIO}.",
        band="from the most to the least clipped",
    )


def clipping_dynamics(variants: Sequence[Variant]) -> Plate | None:
    """Clip ratio and clip rate by component over the rounds, a row of panels a variant; None where none recorded them."""
    recorded = [
        (one, [over_rounds(one.runs.values(), part) for part in (clip_ratios_by_component, clip_rates_by_component)])
        for one in variants
    ]
    shown = [(one, parts) for one, parts in recorded if all(parts)]
    if not shown:
        return None
    with styled(**{"lines.markersize": 3.0}):
        figure = Figure(figsize=(WIDTH_IN, 0.8 + 0.78 * len(shown)), layout="constrained")
        grid = figure.subplots(len(shown), 2, sharex=True, sharey=True, squeeze=False)
        for row, (variant, parts) in zip(grid, shown, strict=True):
            row[0].set_title(textwrap.shorten(variant.label, 60, placeholder=" ..."), loc="left", fontsize=7, pad=3)
            for axes, shares in zip(row, parts, strict=True):
                _draw(axes, shares)
                axes.set_yticks([0, 50, 100])
        grid[-1][0].set_xlabel("federated round\nclip ratio: left of the norm (%)")
        grid[-1][1].set_xlabel("federated round\nclip rate: clients clipped (%)")
        legend(figure)
    return Plate(
        name="clipping-dynamics",
        title="Clipping dynamics by variant",
        caption=(
            f"Left: {_RATIO}. Right: percentage of clients whose update was clipped. Both by part of the model, mean over "
            "its blocks and over the seeds, a row for each variant that clips. A part that is clipped hard from the first "
            "round to the last hardly learns."
        ),
        figure=figure,
    )


def _plate(
    run: Run,
    shares: Series,
    value: Callable[[Block], float | None],
    *,
    name: str,
    title: str,
    label: str,
    caption: str,
    band: str,
) -> Plate | None:
    """One panel with a line a component and a band from its lowest to its highest block; None without any share."""
    if not shares:
        return None
    with styled():
        figure, axes = canvas(height_in=2.1)
        _draw(axes, shares)
        banded = [_band(axes, run, component, value) for component in shares]
        axes.set_xlabel("federated round")
        axes.set_ylabel(label)
        if set(shares) != {"all"}:
            legend(figure)
    shaded = f" Shaded: {band} block of the component." if any(banded) else ""
    return Plate(name=name, title=title, caption=caption.format(what=_what(shares)) + shaded, figure=figure)


def _draw(axes: Axes, shares: Series) -> None:
    for component in (name for name in COMPONENTS if name in shares):
        points = [(number, 100 * share) for number, share in shares[component]]
        trace(axes, points, PALETTE[COMPONENTS[component]], label=COMPONENT_LABELS.get(component, component))
    axes.set_ylim(-5, 105)
    whole_rounds(axes)


def _band(axes: Axes, run: Run, component: str, value: Callable[[Block], float | None]) -> bool:
    found: list[tuple[int, float, float]] = []
    for number, telemetry in run.observed:
        bounded = [block for block in telemetry.blocks if block.component == component and block.clip_norm is not None]
        values = [100 * known for block in bounded if (known := value(block)) is not None]
        if len(values) > 1:
            found.append((number, min(values), max(values)))
    if found:
        numbers, low, high = zip(*found, strict=True)
        axes.fill_between(numbers, low, high, color=PALETTE[COMPONENTS[component]][0], alpha=0.12, linewidth=0)
    return bool(found)


def _what(shares: Series) -> str:
    return "the whole update" if set(shares) == {"all"} else "a block of each component, on average over its blocks"
