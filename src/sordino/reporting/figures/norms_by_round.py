"""How large the clients' updates are over the rounds, as a whole and by part of the model."""

from __future__ import annotations

from collections.abc import Mapping

from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import COMPONENTS, INK, PALETTE, canvas, styled, trace, whole_rounds
from sordino.reporting.runs import Run
from sordino.reporting.telemetry import Telemetry

__all__ = ["norms_by_round"]


def norms_by_round(run: Run) -> Plate | None:
    """Mean norms before clipping, by part of the model where it was recorded, else by block, and the clip norms.

    Returns:
        None without debug telemetry, and where nothing but many blocks was recorded, which `norms_by_group` shows.
    """
    rounds = run.observed
    series = {number: _norms(telemetry) for number, telemetry in rounds}
    names = [name for name in COMPONENTS if any(name in norms for norms in series.values())]
    if not names:
        return None
    whole = (telemetry.blocks[0] for _, telemetry in rounds if len(telemetry.blocks) == 1)
    bounds = {block.clip_norm for block in whole if block.clip_norm is not None}
    with styled():
        figure, axes = canvas(height_in=2.1)
        for name in names:
            points = [(number, norms[name]) for number, norms in series.items() if name in norms]
            trace(axes, points, PALETTE[COMPONENTS[name]], label=name)
        for bound in sorted(bounds):
            axes.axhline(bound, color=INK, linewidth=0.9, linestyle=(0, (4, 2)), label=f"clip norm {bound:g}")
        axes.set_xlabel("federated round")
        axes.set_ylabel("update norm")
        axes.set_ylim(bottom=0)
        whole_rounds(axes)
        figure.legend(loc="outside upper right", ncols=4, handlelength=1.8, handletextpad=0.4, columnspacing=0.8)
    clipped = " An update beyond the dashed clip norm is scaled down to it." if bounds else ""
    return Plate(
        name="norms-by-round",
        title="Update norms by round",
        caption=f"Euclidean norm of the clients' updates before clipping, mean over the round's clients.{clipped}",
        figure=figure,
    )


def _norms(telemetry: Telemetry) -> Mapping[str, float]:
    if telemetry.components:
        return telemetry.components
    blocks = telemetry.blocks
    return {block.component: block.mean_norm for block in blocks} if len(blocks) < 3 else {}
