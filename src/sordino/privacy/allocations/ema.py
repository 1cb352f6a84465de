"""Clip norms that follow the size of past updates, read from what was released."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sordino._check import at_least, fraction, positive
from sordino.config import option
from sordino.privacy.allocations.base import ALLOCATIONS, Allocation, AllocationState, Blocks, ReleasedNorms

__all__ = ["DimEma", "NormEma", "UniformEma"]


@dataclass(frozen=True, slots=True)
class NormEma(Allocation):
    """Base shares times ``nu_g**gamma``, where nu_g follows the norm of the group's update.

    From a release with noise of standard deviation s_g/n on each coordinate, ``m_t = |released_g|^2 - p_g (s_g/n)^2``
    is an unbiased estimate of the squared norm of the clipped mean update. It is averaged *before* it is cut at zero:
    ``m <- (1-b) m + b m_t``, ``nu = sqrt(max(m, 0))``. While m stays below two standard deviations of its own noise, nu
    says nothing and the group keeps its base share; no share falls below 1 % of its base share. The measured groups'
    nu are taken relative to their mean, so that measured and unmeasured groups are on one scale.

    Reading released values is post-processing and costs nothing. ``ema_source = "raw"`` reads the clients' own norms,
    as published: that is a release without noise, which no epsilon covers.
    """

    beta: float = option("Weight b of the newest round in the moving average.", 0.2)
    gamma: float = option("Exponent of the averaged norm.", 0.75)
    warmup: int = option("Number of first rounds that use the base shares.", 3)
    ema_source: Literal["released", "raw"] = option(
        "What the average reads: released values, or the clients' raw norms (an unaccounted release).", "released"
    )

    def __post_init__(self) -> None:
        fraction("privacy.allocation.beta", self.beta, one=True)
        positive("privacy.allocation.gamma", self.gamma)
        at_least("privacy.allocation.warmup", self.warmup, 0)

    @abstractmethod
    def base_shares(self, blocks: Blocks) -> Sequence[float]:
        """The shares before anything is known about norms."""

    @property
    def reads_raw_norms(self) -> bool:
        """Whether the average reads unnoised client norms."""
        return self.ema_source == "raw"

    def observe(self, state: AllocationState, released: ReleasedNorms) -> AllocationState:
        """Moves the averages of m and of its variance ``2 p_g (s_g/n)^4`` by one round."""
        columns = zip(released.norm_squared, released.noise_std, released.size, strict=True)
        newest = [(norm - p * std**2, 2 * p * std**4) for norm, std, p in columns]
        old_mean = state.statistics.get("mean_square")
        old_variance = state.statistics.get("variance")
        if old_mean is None or old_variance is None:
            mean, variance = [m for m, _ in newest], [v for _, v in newest]
        else:
            b = self.beta
            mean = [(1 - b) * old + b * m for old, (m, _) in zip(old_mean, newest, strict=True)]
            variance = [(1 - b) ** 2 * old + b**2 * v for old, (_, v) in zip(old_variance, newest, strict=True)]
        return AllocationState(state.rounds + 1, {"mean_square": tuple(mean), "variance": tuple(variance)})

    def shares(self, blocks: Blocks, state: AllocationState) -> Sequence[float]:
        """Base shares during warm-up; afterwards weighted by the averaged norms."""
        base = self.base_shares(blocks)
        if state.rounds < self.warmup or "mean_square" not in state.statistics:
            return base
        columns = zip(state.statistics["mean_square"], state.statistics["variance"], strict=True)
        norms = [math.sqrt(m) if m > 0 and m >= 2 * math.sqrt(v) else None for m, v in columns]
        measured = [(w, nu) for w, nu in zip(base, norms, strict=True) if nu is not None]
        if not measured:
            return base
        typical = math.fsum(w * nu for w, nu in measured) / math.fsum(w for w, _ in measured)
        factors = [1.0 if nu is None else (nu / typical) ** self.gamma for nu in norms]
        return [w * max(factor, 0.01) for w, factor in zip(base, factors, strict=True)]


@ALLOCATIONS.register("uniform-ema")
@dataclass(frozen=True, slots=True)
class UniformEma(NormEma):
    """Equal base shares, weighted by the averaged norms."""

    def base_shares(self, blocks: Blocks) -> Sequence[float]:
        """1 for each block."""
        return [1.0] * len(blocks)


@ALLOCATIONS.register("dim-ema")
@dataclass(frozen=True, slots=True)
class DimEma(NormEma):
    """Base shares by number of parameters, weighted by the averaged norms."""

    def base_shares(self, blocks: Blocks) -> Sequence[float]:
        """p_g for each block."""
        return [float(block.size) for block in blocks]
