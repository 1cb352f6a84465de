"""Word error rate over the rounds of one or several runs, or variants."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import canvas, legend, series, styled, trace, whole_rounds
from sordino.reporting.measured import Measured

__all__ = ["wer_by_round"]


def wer_by_round(runs: Sequence[Measured], *, seeds: int = 1) -> Plate | None:
    """The measured rates with their intervals; None if no run has measured any.

    Several runs are set apart a little sideways, so that their intervals do not cover each other; of more than two, only
    the last interval is drawn.

    Args:
        runs: or variants, whose rates are means over seeds.
        seeds: how many, for the caption.
    """
    shown = [run for run in runs if run.rates]
    if not shown:
        return None
    with styled():
        figure, axes = canvas()
        last = max(number for run in shown for number, _ in run.rates)
        step = 0.012 * max(last, 1)
        for index, run in enumerate(shown):
            _draw(axes, run, index, offset=step * (index - (len(shown) - 1) / 2), crowded=len(shown) > 2)
        axes.set_xlabel("federated round")
        axes.set_ylabel("word error rate (%)")
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
        whole_rounds(axes)
        if len(shown) > 1:
            legend(figure)
    return Plate(name="wer-by-round", title="Word error rate by round", caption=_caption(shown, seeds), figure=figure)


def _draw(axes: Axes, run: Measured, index: int, *, offset: float, crowded: bool) -> None:
    at = [number + offset for number, _ in run.rates]
    look = series(index)
    trace(
        axes, [(place, 100 * rate.wer) for place, (_, rate) in zip(at, run.rates, strict=True)], look, label=run.label
    )
    barred = list(zip(at, run.rates, strict=True))
    for place, (_, rate) in barred[-1:] if crowded else barred:
        if rate.ci95 is not None:
            low, high = rate.ci95
            axes.vlines(place, 100 * low, 100 * high, color=look[0], alpha=0.45, linewidth=1.0)


def _caption(runs: Sequence[Measured], seeds: int) -> str:
    whose = dict.fromkeys(run.test_is for run in runs if run.test_is)
    on = f" on {' and '.join(whose)}" if whose else ""
    mean = f", mean over {seeds} seeds," if seeds > 1 else ""
    bars = "Bars: 95 % bootstrap intervals over speakers" + (", of the last measurement" if len(runs) > 2 else "")
    if all(rate.ci95 is None for run in runs for _, rate in run.rates):
        bars = "No intervals: they need at least two speakers"
    return (
        f"Word error rate{on}{mean} after each round in which it was measured; round 0 is the model before adapting. "
        f"{bars}. Lower is better."
    )
