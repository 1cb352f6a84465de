"""How often updates are clipped, and how that changes over the rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.ticker import MaxNLocator

from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import COMPONENTS, PALETTE, canvas, styled
from sordino.reporting.runs import Run

__all__ = ["clip_rates"]


def clip_rates(run: Run) -> Plate | None:
    """Fraction of clients whose update is clipped, by component; None without debug telemetry or without bounds."""
    rounds = [
        (line.number, [block for block in line.telemetry.blocks if block.clip_norm is not None])
        for line in run.rounds
        if line.telemetry is not None
    ]
    rounds = [(number, blocks) for number, blocks in rounds if blocks]
    if not rounds:
        return None
    numbers = [number for number, _ in rounds]
    present = {block.component for _, blocks in rounds for block in blocks}
    spread = any(len(blocks) > len(present) for _, blocks in rounds)
    with styled():
        figure, axes = canvas(height_in=2.1)
        for component in (name for name in COMPONENTS if name in present):
            colour, marker, line = PALETTE[COMPONENTS[component]]
            rates = [
                [100 * block.clip_rate for block in blocks if block.component == component] for _, blocks in rounds
            ]
            axes.plot(
                numbers, [_mean(some) for some in rates], color=colour, marker=marker, linestyle=line, label=component
            )
            if spread:
                axes.fill_between(
                    numbers, [min(some) for some in rates], [max(some) for some in rates], color=colour, alpha=0.12,
                    linewidth=0,
                )  # fmt: skip
        axes.set_xlabel("federated round")
        axes.set_ylabel("clients clipped (%)")
        axes.set_ylim(-3, 103)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(visible=False, axis="x")
        if present != {"all"}:
            axes.figure.legend(loc="outside upper right", ncols=len(present), columnspacing=1.0)
    band = " Shaded: from the least to the most clipped block of the component." if spread else ""
    what = "the whole update" if present == {"all"} else "a block of each component, on average over its blocks"
    return Plate(
        name="clip-rates",
        title="Clip rate by round",
        caption=f"Percentage of clients for whom {what} was larger than its clip norm and was scaled down.{band}",
        figure=figure,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
