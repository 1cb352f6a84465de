"""What privacy costs: word error rate against epsilon, a point a run, or a variant."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from sordino.privacy.statement import MEANINGFUL
from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import GREY, LIGHT, canvas, legend, log_scale, series, styled
from sordino.reporting.measured import Measured

__all__ = ["wer_against_epsilon"]


def wer_against_epsilon(runs: Sequence[Measured]) -> Plate | None:
    """A point with its interval for each finished run; those without a guarantee stand apart on the right.

    Returns:
        None for fewer than two runs with a rate, or where none has an epsilon.
    """
    shown = [run for run in runs if run.rate_after is not None]
    proven = [run.epsilon for run in shown if run.epsilon]
    if len(shown) < 2 or not proven:
        return None
    right = 10**0.6 * max(*proven, MEANINGFUL)
    with styled():
        figure, axes = canvas(height_in=2.5)
        unproven = [run for run in shown if not run.epsilon]
        for index, run in enumerate(shown):
            alike = [other for other in shown if other.epsilon == run.epsilon]
            apart = 1.07 ** (alike.index(run) - (len(alike) - 1) / 2)
            _draw(axes, run, index, at=apart * (run.epsilon or right))
        axes.set_xlim(min(proven) / 1.8, right * 1.8 if unproven else max(proven) * 1.8)
        log_scale(axes, "x")
        _shade(axes)
        axes.set_xlabel("epsilon (log scale; lower is more private)")
        axes.set_ylabel("word error rate (%)")
        axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
        if unproven:
            _mark_unproven(axes, right, rates=[100 * run.rate_after.wer for run in unproven if run.rate_after])
        legend(figure, handletextpad=0.2)
    return Plate(
        name="wer-against-epsilon", title="Word error rate against epsilon", caption=_caption(shown), figure=figure
    )


def _draw(axes: Axes, run: Measured, index: int, *, at: float) -> None:
    colour, marker, _ = series(index)
    rate = run.rate_after
    assert rate is not None  # noqa: S101 - only finished runs with a rate come here
    if rate.ci95 is not None:
        axes.vlines(at, 100 * rate.ci95[0], 100 * rate.ci95[1], color=colour, alpha=0.5, linewidth=1.2)
    axes.plot(at, 100 * rate.wer, color=colour, marker=marker, markersize=5, linestyle="", label=run.label, zorder=3)


def _shade(axes: Axes) -> None:
    """Marks what is a guarantee in name only."""
    low, high = axes.get_xlim()
    if high > MEANINGFUL:
        axes.axvspan(max(low, MEANINGFUL), high, color=LIGHT, alpha=0.45, linewidth=0, zorder=0)
        axes.set_xlim(low, high)
        axes.annotate(
            f"above {MEANINGFUL:g}: in name only",
            (max(low, MEANINGFUL), 1),
            (3, -8),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            fontsize=6.5,
            color=GREY,
        )


def _mark_unproven(axes: Axes, at: float, *, rates: Sequence[float]) -> None:
    """Says so at that end of the axis that is farther from the points."""
    above = max(rates) + min(rates) < sum(axes.get_ylim())
    axes.annotate(
        "no guarantee", (at, 1 if above else 0), (0, -19 if above else 4), xycoords=("data", "axes fraction"),
        textcoords="offset points", fontsize=6.5, color=GREY, ha="center",
    )  # fmt: skip


def _caption(runs: Sequence[Measured]) -> str:
    whose = " and ".join(dict.fromkeys(run.test_is for run in runs if run.test_is))
    units = " or ".join(dict.fromkeys(run.unit for run in runs if run.epsilon))
    return (
        f"Word error rate after adapting{f', on {whose}' if whose else ''}, against the epsilon that is guaranteed to each "
        f"{units}. Bars: 95 % bootstrap intervals over speakers. In the shaded part nobody is protected; runs without any "
        "guarantee stand at the right end, at no particular epsilon. Points of one epsilon are set apart a little sideways."
    )
