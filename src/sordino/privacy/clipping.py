"""Per-block clipping of one flat update."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from sordino.errors import PrivacyError
from sordino.layout import Group
from sordino.privacy.allocations import ClipBounds

__all__ = ["Clipper"]

# float32 rounds the factor and each product by up to 2**-24: this keeps the rounded norm at or under its bound.
_ROUNDING_MARGIN = 1 - 2.0**-22
_TINY = 2.0**-126


@dataclass(frozen=True, slots=True)
class Clipper:
    """All that a client needs to clip: block bounds and the layout they belong to.

    Formal guarantee: the result's block norms are at most C_b, so its joint norm is at most C, for any input.

    | update | result |
    |---|---|
    | block norm at most C_b | unchanged |
    | larger | scaled by C_b / norm |
    | zero | zero |
    | NaN or infinite anywhere | all zero, reported as not finite |
    | infinite C | unchanged unless not finite |

    Args:
        bounds: blocks and their clip norms.
        size: length of the flat vector.
        digest: fingerprint of the layout.
    """

    bounds: ClipBounds
    size: int
    digest: str

    def clip(self, values: torch.Tensor) -> tuple[torch.Tensor, tuple[float, ...], bool]:
        """Clips a copy.

        Shape:
            values: floating [size]
            result: float32 [size], the norms before clipping, and whether the update was finite

        Raises:
            PrivacyError: another shape, or not floating-point.
        """
        if values.shape != (self.size,) or not values.is_floating_point():
            raise PrivacyError(
                f"an update of shape {tuple(values.shape)} and type {values.dtype} arrived: expected {self.size} "
                "floating-point values; give client and server the same model and adapter settings."
            )
        clipped = values.detach().to(torch.float32, copy=True)
        norms = tuple(block_norm(clipped, block) for block in self.bounds.blocks)
        if not all(math.isfinite(norm) for norm in norms):
            return torch.zeros_like(clipped), tuple(0.0 for _ in norms), False
        for block, norm, bound in zip(self.bounds.blocks, norms, self.bounds.norms, strict=True):
            if norm > bound:
                _scale(clipped, block, bound / norm * _ROUNDING_MARGIN)
        return clipped, norms, True


def block_norm(values: torch.Tensor, block: Group) -> float:
    """L2 norm of a block in float64, where the square of no float32 overflows or vanishes."""
    parts = [torch.linalg.vector_norm(values[a:b], dtype=torch.float64) for a, b in block.slices]
    return float(parts[0] if len(parts) == 1 else torch.linalg.vector_norm(torch.stack(parts)))


def _scale(values: torch.Tensor, block: Group, factor: float) -> None:
    # A factor below float32's normal range would be rounded too coarsely, so it is applied in two steps.
    steps = [factor] if factor == 0 or factor >= _TINY else [2.0**-100, factor * 2.0**100]
    for start, stop in block.slices:
        for step in steps:
            values[start:stop].mul_(step)
