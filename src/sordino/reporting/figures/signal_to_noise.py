"""How far what the clients send stands out from the noise, part by part, over the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sordino.reporting.comparison import Variant
from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import (
    COMPONENTS,
    GREY,
    PALETTE,
    WIDTH_IN,
    canvas,
    legend,
    log_scale,
    series,
    styled,
    trace,
    whole_rounds,
)
from sordino.reporting.runs import Run
from sordino.reporting.series import over_rounds

__all__ = ["signal_to_noise", "signal_to_noise_by_variant"]

_WHAT: Final = (
    "one client's update as sent, after clipping, over the noise on the released mean: the root mean square of a coordinate "
    "of each, mean over clients. At 1, the dotted line, noise and signal are equally loud if all clients agree"
)


def signal_to_noise(run: Run) -> Plate | None:
    """The ratio by component over the rounds; None where it was not recorded, or nothing is noised."""
    ratios = over_rounds([run], lambda telemetry: telemetry.signal_to_noise)
    if not ratios:
        return None
    with styled():
        figure, axes = canvas(height_in=2.1)
        for component in (name for name in COMPONENTS if name in ratios):
            trace(axes, ratios[component], PALETTE[COMPONENTS[component]], label=component)
        _finish(axes, [value for points in ratios.values() for _, value in points])
        axes.set_xlabel("federated round")
        axes.set_ylabel("signal to noise")
        legend(figure)
    return Plate(
        name="signal-to-noise",
        title="Signal to noise by round",
        caption=f"Of each part of the model, {_WHAT}.",
        figure=figure,
    )


def signal_to_noise_by_variant(variants: Sequence[Variant]) -> Plate | None:
    """A panel a component, a line a variant, mean over its seeds; None where no variant recorded the ratio."""
    ratios = [over_rounds(one.runs.values(), lambda telemetry: telemetry.signal_to_noise) for one in variants]
    components = [name for name in COMPONENTS if any(name in found for found in ratios)]
    if not components:
        return None
    values = [value for found in ratios for points in found.values() for _, value in points]
    with styled(**{"lines.markersize": 3.0}):
        figure = Figure(figsize=(WIDTH_IN, 0.7 + 1.05 * len(components)), layout="constrained")
        panels = figure.subplots(len(components), 1, sharex=True, squeeze=False)[:, 0]
        for axes, component in zip(panels, components, strict=True):
            for index, (variant, found) in enumerate(zip(variants, ratios, strict=True)):
                if component in found:
                    trace(axes, found[component], series(index), label=variant.label)
            _finish(axes, values)
            axes.set_ylabel(component)
        panels[-1].set_xlabel("federated round (up: signal to noise, log scale)")
        legend(figure)
    return Plate(
        name="signal-to-noise",
        title="Signal to noise by part and variant",
        caption=f"Of each part of the model, {_WHAT}. Mean over the seeds; variants without noise have no such ratio.",
        figure=figure,
    )


def _finish(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic axis over all values, at least a decade, with a line at 1 if that lies near."""
    positive = [value for value in values if value > 0] or [1.0]
    middle = (min(positive) * max(positive)) ** 0.5
    axes.set_ylim(min(min(positive) / 1.3, middle / 3.2), max(1.3 * max(positive), middle * 3.2))
    low, high = axes.get_ylim()
    log_scale(axes, "y")
    if low < 1 < high:
        axes.axhline(1, color=GREY, linewidth=0.9, linestyle=":")
    whole_rounds(axes)
