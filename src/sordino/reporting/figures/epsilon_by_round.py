"""What the guarantee has cost after each round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from matplotlib.axes import Axes

from sordino.privacy.statement import MEANINGFUL
from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import GREY, INK, canvas, legend, log_scale, series, styled, trace, whole_rounds
from sordino.reporting.runs import Run

__all__ = ["epsilon_by_round"]

_Spent: TypeAlias = Mapping[str, Sequence[tuple[int, float]]]


def epsilon_by_round(runs: Sequence[Run]) -> Plate | None:
    """Epsilon after each round, with the budget of a single run; None if no run has a guarantee.

    Runs that end more than a factor of ten apart get a logarithmic axis.
    """
    recorded = {run.label: [(line.number, line.epsilon) for line in run.rounds if line.epsilon] for run in runs}
    spent = {label: figures for label, figures in recorded.items() if figures}
    if not spent:
        return None
    ends = [figures[-1][1] for figures in spent.values()]
    log = max(ends) > 10 * min(ends)
    with styled():
        figure, axes = canvas(height_in=2.1)
        for index, run in enumerate(runs):
            if run.label in spent:
                points = [*([] if log else [(0, 0.0)]), *spent[run.label]]
                trace(axes, points, series(index), label=run.label)
        budget = _budget(runs[0], max(ends)) if len(runs) == 1 else None
        _scale(axes, spent, budget, log=log)
        if budget is not None:
            axes.axhline(budget, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
            axes.annotate(f"budget {budget:g}", (0, budget), (2, 2), textcoords="offset points", fontsize=7)
        if max(ends) > MEANINGFUL:
            _mark_meaningful(axes)
        axes.set_xlabel("federated round")
        axes.set_ylabel("epsilon spent so far")
        whole_rounds(axes)
        if len(spent) > 1:
            legend(figure)
    shown = [run for run in runs if run.label in spent]
    return Plate(name="epsilon-by-round", title="Epsilon by round", caption=_caption(shown), figure=figure)


def _budget(run: Run, spent: float) -> float | None:
    """The budget, unless it is so far off that the curve would lie on the floor."""
    budget = None if run.statement is None else run.statement.terms.budget
    return budget if budget is not None and budget <= 3 * spent else None


def _scale(axes: Axes, spent: _Spent, budget: float | None, *, log: bool) -> None:
    values = [value for figures in spent.values() for _, value in figures]
    if log:
        axes.set_ylim(min(values) / 1.3, 1.3 * max(values))
        log_scale(axes, "y")
    else:
        axes.set_ylim(0, 1.15 * max(*values, budget or 0))


def _mark_meaningful(axes: Axes) -> None:
    axes.axhline(MEANINGFUL, color=GREY, linewidth=0.9, linestyle=":")
    axes.annotate(
        f"above {MEANINGFUL:g}: in name only",
        (1, MEANINGFUL),
        (-2, 2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        fontsize=7,
        color=GREY,
        ha="right",
    )


def _caption(runs: Sequence[Run]) -> str:
    terms = [run.statement.terms for run in runs if run.statement is not None]
    units = " or ".join(dict.fromkeys(one.unit for one in terms))
    deltas = " or ".join(dict.fromkeys(f"{one.delta:g}" for one in terms))
    return (
        f"Epsilon guaranteed to each {units or 'unit'} after each round{f', at delta {deltas}' if deltas else ''}, "
        "composed over all rounds so far. Every round adds to it; lower is more private."
    )
