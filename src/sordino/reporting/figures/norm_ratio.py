"""How unequal the parts of the model are: what decides whether splitting the clip norm pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sordino.reporting.comparison import Variant
from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import GREY, canvas, legend, log_scale, series, styled, trace, whole_rounds
from sordino.reporting.series import over_rounds
from sordino.reporting.telemetry import Telemetry

__all__ = ["norm_ratio"]

_GUIDES: Final = {10.0: "10: a split pays", 2.0: "2: dim-ema is safer"}


def norm_ratio(variants: Sequence[Variant]) -> Plate | None:
    """Norm of the rest of the update over the encoder's, a line a variant; None where none has both."""
    found = [over_rounds(variant.runs.values(), _ratio).get("ratio", ()) for variant in variants]
    values = [value for points in found for _, value in points]
    if not values:
        return None
    with styled(**{"lines.markersize": 3.0}):
        figure, axes = canvas(height_in=2.3)
        for index, (variant, points) in enumerate(zip(variants, found, strict=True)):
            if points:
                trace(axes, points, series(index), label=variant.label)
        axes.set_ylim(min(*values, 2) / 1.4, 1.4 * max(*values, 10))
        log_scale(axes, "y")
        for level, meaning in _GUIDES.items():
            axes.axhline(level, color=GREY, linewidth=0.9, linestyle=":", zorder=1)
            axes.annotate(
                meaning, (1, level), (-2, 2 if level > 2 else -8), xycoords=("axes fraction", "data"),
                textcoords="offset points", fontsize=6.5, color=GREY, ha="right",
            )  # fmt: skip
        axes.set_xlabel("federated round")
        axes.set_ylabel("norm of the rest / encoder")
        whole_rounds(axes)
        legend(figure)
    return Plate(
        name="norm-ratio",
        title="Component norm ratio by round",
        caption=(
            "Norm of the rest of the model's update over the norm of the encoder's, both means over clients before "
            "clipping, and over the seeds. Rules of thumb, dotted: from about 10 on, one joint clip norm starves the "
            "encoder and a split pays; below about 2, weighting by size and released norms (dim-ema) is the safer choice."
        ),
        figure=figure,
    )


def _ratio(telemetry: Telemetry) -> dict[str, float]:
    return {} if telemetry.norm_ratio is None else {"ratio": telemetry.norm_ratio}
