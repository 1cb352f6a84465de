"""Per-block clipping of one flat update."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from sordino.errors import PrivacyError
from sordino.layout import Group
from sordino.privacy.allocations import ClipBounds

__all__ = ["Clipped", "Clipper", "Rule"]

# float32 rounds the factor and each product by up to 2**-24: this keeps the rounded norm at or under its bound.
_ROUNDING_MARGIN = 1 - 2.0**-22
_TINY = 2.0**-126
# Products of float32 under 2**-126 are rounded by up to 2**-150, which for a smaller bound than this is not little.
_LEAST_BOUND = 2.0**-100
# Elements converted to float64 at once: they stay in the processor's cache, and no BLAS wakes its threads for so few.
_PIECE = 8192


Rule: TypeAlias = Literal["clip", "normalise"]


@dataclass(frozen=True, slots=True)
class Clipped:
    """What clipping made of one update.

    Attributes:
        values: float32 [size], the bounded copy.
        norms: the blocks' norms before.
        watched_norms: the watched groups' norms before.
        finite: False when the update held NaN or infinity and is now all zero; its norms are given as 0.
    """

    values: torch.Tensor
    norms: tuple[float, ...]
    watched_norms: tuple[float, ...]
    finite: bool


@dataclass(frozen=True, slots=True)
class Clipper:
    """All that a client needs to clip: block bounds, the rule, and the layout they belong to.

    Formal guarantee: the result's joint norm is at most C for any input. Under ``clip`` the block norms are moreover at
    most C_b; under ``normalise`` they are not, where the joint norm is at most C.

    | update | ``clip`` | ``normalise`` |
    |---|---|---|
    | every block within C_b | unchanged | unchanged |
    | joint norm at most C | blocks above C_b scaled to C_b | unchanged |
    | joint norm above C | blocks above C_b scaled to C_b | every block scaled to C_b, smaller ones grow |
    | zero, or a block of zeros | zero | zero |
    | block with C_b < 2**-100 | zero | zero, whatever the joint norm |
    | NaN or infinite anywhere | all zero, reported as not finite | likewise |
    | infinite C | unchanged unless not finite | likewise |

    Args:
        bounds: blocks and their clip norms.
        size: length of the flat vector.
        digest: fingerprint of the layout.
        rule: see the table.
        watched: groups whose norms are measured besides, for debug telemetry.

    Source: ``normalise``: Pelikan et al., Federated Learning with Differential Privacy for End-to-End Speech Recognition,
    2024, per-layer normalisation.
    """

    bounds: ClipBounds
    size: int
    digest: str
    rule: Rule = "clip"
    watched: tuple[Group, ...] = ()

    def clip(self, values: torch.Tensor) -> Clipped:
        """Clips a copy.

        Shape:
            values: floating [size]

        Raises:
            PrivacyError: another shape, or not floating-point.
        """
        if values.shape != (self.size,) or not values.is_floating_point():
            raise PrivacyError(
                f"an update of shape {tuple(values.shape)} and type {values.dtype} arrived: expected {self.size} "
                "floating-point values; give client and server the same model and adapter settings."
            )
        raw = values.detach().to("cpu", torch.float32)
        norms = block_norms(raw, self.bounds.blocks)
        if not all(math.isfinite(norm) for norm in norms):
            return Clipped(torch.zeros_like(raw), (0.0,) * len(norms), (0.0,) * len(self.watched), finite=False)
        watched = block_norms(raw, self.watched)
        source, clipped = raw.numpy(), self._blank()
        for block, factor in zip(self.bounds.blocks, self.factors(norms), strict=True):
            _scale(source, block, factor, into=clipped)
        return Clipped(torch.from_numpy(clipped), norms, watched, finite=True)

    def _blank(self) -> npt.NDArray[np.float32]:
        """Where a clipped copy goes: zero wherever no block will write, since nothing would bound what is there."""
        copy, reached = np.empty(self.size, np.float32), 0
        for start, stop in sorted(part for block in self.bounds.blocks for part in block.slices):
            copy[reached:start], reached = 0, max(reached, stop)
        copy[reached:] = 0
        return copy

    def joint_norm(self, norms: Sequence[float]) -> float:
        """Norm of the whole update, without the blocks that are zeroed anyway, from its blocks' norms."""
        pairs = zip(norms, self.bounds.norms, strict=True)
        return math.hypot(*(norm for norm, bound in pairs if bound >= _LEAST_BOUND))

    def factors(self, norms: Sequence[float]) -> Sequence[float]:
        """What each block of an update with these norms is multiplied by."""
        pairs = list(zip(norms, self.bounds.norms, strict=True))
        whole = self.rule == "normalise" and self.joint_norm(norms) <= self.bounds.total

        def factor(norm: float, bound: float) -> float:
            if bound < _LEAST_BOUND:
                return 0.0
            kept = whole if self.rule == "normalise" else norm <= bound
            return 1.0 if kept or norm == 0 else bound / norm * _ROUNDING_MARGIN

        return [factor(norm, bound) for norm, bound in pairs]


def block_norms(values: torch.Tensor, blocks: Sequence[Group]) -> tuple[float, ...]:
    """L2 norm of each block of float32 numbers, in float64, where no square of theirs overflows or vanishes."""
    array, piece = values.numpy(), np.empty(_PIECE)

    def squares(start: int, stop: int) -> float:
        found = 0.0
        for first in range(start, stop, _PIECE):
            part = piece[: min(_PIECE, stop - first)]
            part[:] = array[first : first + len(part)]
            found += float(part.dot(part))
        return found

    return tuple(math.sqrt(sum(squares(start, stop) for start, stop in block.slices)) for block in blocks)


def _scale(source: npt.NDArray[np.float32], block: Group, factor: float, *, into: npt.NDArray[np.float32]) -> None:
    """Writes ``factor`` times a block: the factor is rounded to float32 once, and each product once."""
    # Outside float32's normal range the factor would be rounded too coarsely, or be infinite: then float64 multiplies.
    step = np.float32(factor) if _TINY <= factor <= 1 / _TINY else np.float64(factor)
    for start, stop in block.slices:
        np.multiply(source[start:stop], step, out=into[start:stop], casting="same_kind")
