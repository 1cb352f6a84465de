"""How the noise is spread over the blocks of an update, at the same guarantee.

Any noise that is independent between coordinates, of standard deviation s_b throughout block b, has the same (epsilon,
delta) as long as ``sum_b C_b**2 / s_b**2 = z**-2``. *Proof.* Divide block b by s_b: the noise becomes standard normal, and
one client moves the sum by a vector of norm at most ``sqrt(sum_b C_b**2 / s_b**2)``, since each block is clipped to C_b.
That is a Gaussian mechanism of multiplier z; rescaling is post-processing.

| shape | s_b |
|---|---|
| isotropic | ``z C`` |
| component-aware | ``z sqrt((C_b / sqrt p_b) sum_h C_h sqrt p_h)`` |

The second has the least power ``sum_b p_b s_b**2`` of all. *Proof.* By Cauchy-Schwarz ``(sum p s**2)(sum C**2 / s**2) >=
(sum C sqrt p)**2``, with equality where ``p s**2`` is proportional to ``C**2 / s**2``, which is this s_b; its power is
``z**2 (sum_b C_b sqrt p_b)**2``, at most isotropic noise's ``z**2 C**2 p``, and equal to it only where C_b is proportional
to sqrt p_b. What it saves in all, it takes from the part with the larger bound per coordinate, which gets *more* noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from sordino.privacy.allocations import ClipBounds

__all__ = ["NOISE_SHAPES", "NoiseShape"]

NoiseShape: TypeAlias = Literal["isotropic", "component-aware"]


def _isotropic(bounds: ClipBounds, noise_multiplier: float) -> tuple[float, ...]:
    return tuple(noise_multiplier * bounds.total if norm > 0 else 0.0 for norm in bounds.norms)


def _component_aware(bounds: ClipBounds, noise_multiplier: float) -> tuple[float, ...]:
    pairs = [(norm, math.sqrt(block.size)) for block, norm in zip(bounds.blocks, bounds.norms, strict=True)]
    total = math.fsum(norm * root for norm, root in pairs)
    return tuple(
        noise_multiplier * math.sqrt(norm / root * total) if norm > 0 and root else 0.0 for norm, root in pairs
    )


NOISE_SHAPES: Final[Mapping[NoiseShape, Callable[[ClipBounds, float], tuple[float, ...]]]] = {
    "isotropic": _isotropic,
    "component-aware": _component_aware,
}
"""From bounds and z to the standard deviation on each coordinate of the sum, by block; 0 where the bound is 0."""
