"""What a split of the clip norm does to the noise that each side of it sees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sordino.privacy.statement import CHANNEL_CAVEAT
from sordino.reporting.comparison import Variant
from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import COMPONENTS, INK, PALETTE, canvas, legend, log_scale, series, styled
from sordino.reporting.runs import Run
from sordino.reporting.telemetry import Block, Group, Telemetry

__all__ = ["Channels", "channels_of", "effective_noise"]

_ENCODER: Final = PALETTE[COMPONENTS["encoder"]][0]
_REST: Final = PALETTE[COMPONENTS["decoder"]][0]


@dataclass(frozen=True, slots=True)
class Channels:
    """How a run divides C**2 and the noise between the encoder and the rest of the model, in its last round.

    Attributes:
        alpha: the encoder's share of the squared clip norm.
        encoder: effective noise multiplier of the encoder's blocks, ``(sum_b C_b**2 / s_b**2)**(-1/2)`` with s_b the noise
            on their sum.
        rest: likewise of the other blocks.
    """

    alpha: float
    encoder: float
    rest: float


def effective_noise(variants: Sequence[Variant]) -> Plate | None:
    """Curves of z / sqrt(alpha) and z / sqrt(1 - alpha), and the variants' own pools on them or off them.

    Returns:
        None where no variant clips the encoder apart from the rest.
    """
    found = [(variant, channels_of(variant.first) if variant.first else None) for variant in variants]
    multipliers = sorted({variant.noise_multiplier for variant, one in found if one and variant.noise_multiplier})
    if not multipliers:
        return None
    with styled():
        figure, axes = canvas(height_in=2.5)
        for multiplier in multipliers:
            _curves(axes, multiplier, named=len(multipliers) > 1)
        handles = [
            Line2D([], [], color=_ENCODER, linestyle="-", label="encoder"),
            Line2D([], [], color=_REST, linestyle="--", label="rest of the model"),
        ]
        for index, (variant, channels) in enumerate(found):
            if channels is not None:
                marker = series(index)[1]
                for z, colour in ((channels.encoder, _ENCODER), (channels.rest, _REST)):
                    axes.plot(channels.alpha, z, marker=marker, color=colour, markersize=4.5, linestyle="", zorder=3)
                handles.append(Line2D([], [], color=INK, marker=marker, linestyle="", label=variant.label))
        points = [z for _, one in found if one for z in (one.encoder, one.rest)]
        axes.set_xlim(0, 1)
        axes.set_ylim(
            0.8 * min(*points, *multipliers), 1.25 * max(*points, *(z / math.sqrt(0.02) for z in multipliers))
        )
        log_scale(axes, "y")
        axes.set_xlabel("encoder's share of the squared clip norm, alpha")
        axes.set_ylabel("effective noise multiplier z_eff")
        legend(figure, handles)
    return Plate(name="effective-noise", title="Effective noise by share", caption=_caption(), figure=figure)


def channels_of(run: Run) -> Channels | None:
    """A run's pools in its last round; None unless it clips and noises the encoder apart from everything else."""
    rounds = [telemetry for _, telemetry in run.observed]
    cohort = _expected_cohort(run)
    if not rounds or cohort is None or run.option("privacy", "rule") == "normalise":
        return None
    blocks = [block for block in rounds[-1].blocks if block.clip_norm]
    encoder = [block for block in blocks if block.component == "encoder"]
    rest = [block for block in blocks if block.component != "encoder"]
    if not encoder or not rest or any(block.component == "all" for block in rest):
        return None
    multipliers = [_multiplier(side, rounds[-1], cohort) for side in (encoder, rest)]
    if None in multipliers:
        return None
    shares = [math.fsum((block.clip_norm or 0.0) ** 2 for block in side) for side in (encoder, rest)]
    return Channels(shares[0] / sum(shares), *(z for z in multipliers if z is not None))


def _multiplier(blocks: Sequence[Block], telemetry: Telemetry, cohort: float) -> float | None:
    total = 0.0
    for block in blocks:
        std = cohort * _noise_std(block, telemetry.groups)
        if std == 0:
            return None
        total += ((block.clip_norm or 0.0) / std) ** 2
    return 1 / math.sqrt(total)


def _noise_std(block: Block, groups: Sequence[Group]) -> float:
    """Noise on a coordinate of the released mean inside a block, all of whose groups have the same."""
    inside = [group for group in groups if group.name == block.name]
    encoder = block.component == "encoder"
    inside = inside or [group for group in groups if (group.component == "encoder") == encoder]
    return max((group.noise_std for group in inside), default=0.0)


def _expected_cohort(run: Run) -> float | None:
    """The number n that sums are divided by, from what was charged."""
    charged = [event for event, _ in run.statement.releases] if run.statement is not None else []
    if not charged or run.statement is None:
        return None
    last = charged[-1]
    size = last.get("size") or last.get("rate", 0.0) * run.statement.terms.population
    return float(size) or None


def _curves(axes: Axes, multiplier: float, *, named: bool) -> None:
    alpha = np.linspace(0.004, 0.996, 249)
    for share, colour, line in ((alpha, _ENCODER, "-"), (1 - alpha, _REST, "--")):
        axes.plot(alpha, multiplier / np.sqrt(share), color=colour, linestyle=line, linewidth=1.0, zorder=2)
    if named:
        axes.annotate(
            f"z = {multiplier:g}", (0.5, multiplier * math.sqrt(2)), (0, 3), textcoords="offset points", fontsize=6.5,
            ha="center", color=INK,
        )  # fmt: skip


def _caption() -> str:
    return (
        "Lines: effective noise multiplier of the encoder, z / sqrt(alpha), and of the rest, z / sqrt(1 - alpha), under "
        "isotropic noise. Points: the variants' own shares in the last round, the encoder's and the rest's, each in its "
        "line's colour; shaped noise and noise that also pays for clip indicators lie off the lines. "
        f"{CHANNEL_CAVEAT}"
    )
