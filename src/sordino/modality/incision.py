"""One part of a difference, clipped to a ball in a public subspace and noised."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from sordino.modality.saliency import Subspace
from sordino.privacy import NoiseSource, Receipt
from sordino.privacy.events import GaussianRelease

__all__ = ["Incision"]


@dataclass(frozen=True, slots=True)
class Incision:
    """``B^T L (clip_C(L^-1 B d) + z D xi)`` for a difference d, orthonormal B, diagonal L and standard normal xi.

    Formal guarantee: the release is that of a Gaussian mechanism with multiplier z between neighbours whose clipped
    differences lie at most D apart: D = C if one of them is zero, 2C for any two. B, L, C and D must not depend on what is
    protected. L spreads the noise unevenly, and the ball in which d is clipped likewise (a Mahalanobis norm); after the
    bijection L^-1 both are round, so the guarantee does not depend on L.

    | difference | released |
    |---|---|
    | outside the subspace | noise alone |
    | longer than C, in the norm of L | scaled down to C, noise |
    | holds NaN or infinity | noise alone |

    Args:
        name: of the part.
        subspace: B.
        shape: L, float64 [dimensions]; ones for isotropic noise.
        clip_norm: C.
        sensitivity: D.
        noise_multiplier: z.
        neighbours: between which runs D holds, in words.
    """

    name: str
    subspace: Subspace
    shape: torch.Tensor
    clip_norm: float
    sensitivity: float
    noise_multiplier: float
    neighbours: str

    @property
    def noise_std(self) -> float:
        """Sigma of the noise on each coordinate, before L."""
        return self.noise_multiplier * self.sensitivity

    def event(self) -> GaussianRelease:
        """What one release costs."""
        return GaussianRelease(
            noise_multiplier=self.noise_multiplier,
            neighbours=self.neighbours,
            what=f"the branch's {self.name} after surgery",
        )

    def clip(self, difference: torch.Tensor) -> torch.Tensor:
        """Coordinates of what is left of a difference, float [size] to float64 [dimensions]."""
        inside = (self.subspace.basis @ difference.double()) / self.shape
        norm = float(inside.norm())
        if not math.isfinite(norm):
            return torch.zeros_like(inside)
        return inside if norm <= self.clip_norm else inside * (self.clip_norm / norm * (1 - 2.0**-40))

    def release(
        self, difference: torch.Tensor, *, receipt: Receipt, noise: NoiseSource, place: tuple[str | int, ...]
    ) -> torch.Tensor:
        """What leaves of a difference.

        Args:
            difference: float [size].
            receipt: proof that the ledger holds the event.
            noise: where the noise comes from.
            place: names this release among others of a seeded simulation.

        Returns:
            float64 [size]

        Raises:
            PrivacyError: a receipt for another event or used before.
        """
        receipt.spend(self.event(), seeded=noise.seeded)
        drawn = noise.stream("noise", *place).normal(self.subspace.dimensions)
        noisy = self.clip(difference) + torch.from_numpy(np.asarray(self.noise_std * drawn))
        return self.subspace.basis.T @ (noisy * self.shape)
