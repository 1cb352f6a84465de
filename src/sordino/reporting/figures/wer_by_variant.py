"""Error rates of a comparison and, beside them, what each variant gains or loses against the reference."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sordino.reporting.comparison import Comparison, Variant
from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import GREY, INK, PALETTE, WIDTH_IN, styled

__all__ = ["wer_by_variant"]

_COLOUR: Final = PALETTE[0][0]
_LETTERS: Final = 17
_WHITE: Final = {"facecolor": "white", "edgecolor": "none", "pad": 1}


def wer_by_variant(comparison: Comparison) -> Plate | None:
    """A row a variant, in the order asked for; None if none has a rate."""
    variants = comparison.variants
    if all(variant.rate_after is None for variant in variants):
        return None
    labels = [textwrap.fill(variant.label, _LETTERS) for variant in variants]
    lines = sum(max(2, 1 + label.count("\n")) for label in labels)
    with styled():
        figure = Figure(figsize=(WIDTH_IN, 0.75 + 0.125 * lines), layout="constrained")
        rates, differences = figure.subplots(1, 2, sharey=True)
        for row, variant in enumerate(variants):
            _rate(rates, row, variant)
            _difference(differences, row, variant, reference=variant.label == comparison.reference)
        if comparison.rate_before is not None:
            rates.axvline(100 * comparison.rate_before.wer, color=INK, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        differences.axvline(0, color=GREY, linewidth=0.9, zorder=1)
        rates.set_ylim(len(variants) - 0.4, -0.6)
        rates.set_xlim(left=0)
        rates.set_xlabel("word error rate (%)")
        differences.set_xlabel(f"points to {textwrap.shorten(comparison.reference, 24, placeholder=' ...')}")
        rates.set_yticks(range(len(variants)), labels)
        for axes in (rates, differences):
            axes.grid(visible=False, axis="y")
            axes.tick_params(axis="y", length=0)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    return Plate(
        name="wer-by-variant",
        title="Word error rate by variant",
        caption=_caption(comparison, variants),
        figure=figure,
    )


def _rate(axes: Axes, row: int, variant: Variant) -> None:
    if variant.rate_after is None:
        what = "failed" if variant.failures else "not measured"
        axes.annotate(
            what, (0, row), (3, 0), textcoords="offset points", va="center", fontsize=6.5, color=GREY, bbox=_WHITE
        )
        return
    _dot(axes, row, variant.rate_after.wer, variant.rate_after.ci95)
    if len(variant.by_seed) > 1:
        wers = [100 * wer for wer in variant.by_seed.values()]
        axes.plot(
            wers, [row + 0.28] * len(wers), linestyle="", marker="o", markersize=2.2, color=GREY, markeredgewidth=0,
            alpha=0.8, zorder=3,
        )  # fmt: skip


def _difference(axes: Axes, row: int, variant: Variant, *, reference: bool) -> None:
    if reference:
        axes.annotate("reference", (0, row), (3, 0), textcoords="offset points", va="center", fontsize=6.5, color=GREY)
    elif variant.difference.points is not None:
        _dot(
            axes,
            row,
            variant.difference.points,
            variant.difference.interval.bounds,
            hollow=not variant.difference.clear,
        )


def _dot(axes: Axes, row: int, value: float, bounds: tuple[float, float] | None, *, hollow: bool = False) -> None:
    if bounds is not None:
        axes.plot([100 * bounds[0], 100 * bounds[1]], [row, row], color=_COLOUR, alpha=0.4, linewidth=1.6)
    axes.plot(
        100 * value, row, marker="o", markersize=4.2, linestyle="", color=_COLOUR, zorder=4,
        markerfacecolor="white" if hollow else _COLOUR,
    )  # fmt: skip


def _caption(comparison: Comparison, variants: Sequence[Variant]) -> str:
    whose = f" on {comparison.test_is}" if comparison.test_is else ""
    seeds = f", pooled over {len(comparison.seeds)} seeds" if len(comparison.seeds) > 1 else ""
    single = " Small grey dots: the single seeds." if any(len(variant.by_seed) > 1 for variant in variants) else ""
    before = " Dashed: the untouched model." if comparison.rate_before is not None else ""
    return (
        f"Left: word error rate{whose}{seeds}, with 95 % bootstrap intervals over speakers.{single}{before} Right: how "
        f"many percentage points more than {comparison.reference}, with paired 95 % intervals over the same speakers; left "
        "of the line is better, and hollow dots are differences that could be none."
    )
