"""Word error rate over the rounds of one or several runs."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import PALETTE, canvas, styled
from sordino.reporting.runs import Run

__all__ = ["wer_by_round"]


def wer_by_round(runs: Sequence[Run]) -> Plate | None:
    """The measured rates with their intervals; None if no run has measured any.

    Several runs are set apart a little sideways, so that their intervals do not cover each other; of more than two, only
    the last interval is drawn.
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
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(visible=False, axis="x")
        if len(shown) > 1:
            figure.legend(loc="outside upper left", ncols=2, columnspacing=1.0)
    return Plate(name="wer-by-round", title="Word error rate by round", caption=_caption(shown), figure=figure)


def _draw(axes: Axes, run: Run, index: int, *, offset: float, crowded: bool) -> None:
    colour, marker, line = PALETTE[index % len(PALETTE)]
    at = [number + offset for number, _ in run.rates]
    wers = [100 * rate.wer for _, rate in run.rates]
    axes.plot(at, wers, color=colour, marker=marker, linestyle=line, label=run.label, zorder=3)
    barred = list(zip(at, run.rates, strict=True))
    for place, (_, rate) in barred[-1:] if crowded else barred:
        if rate.ci95 is not None:
            low, high = rate.ci95
            axes.vlines(place, 100 * low, 100 * high, color=colour, alpha=0.45, linewidth=1.0)


def _caption(runs: Sequence[Run]) -> str:
    whose = dict.fromkeys(run.test_is for run in runs if run.test_is)
    on = f" on {' and '.join(whose)}" if whose else ""
    return (
        f"Word error rate{on} after each round in which it was measured; round 0 is the model before adapting. Bars: 95 % "
        f"bootstrap intervals over speakers{', of the last measurement' if len(runs) > 2 else ''}. Lower is better."
    )
