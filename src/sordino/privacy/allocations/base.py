"""What every allocation shares: it returns shares, and only this file makes clip norms of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, final

from sordino._registry import Registry
from sordino.errors import PrivacyError
from sordino.layout import Group, ParameterLayout

__all__ = ["ALLOCATIONS", "Allocation", "AllocationState", "Blocks", "ClipBounds", "ReleasedNorms"]

ALLOCATIONS: Registry[Any] = Registry("allocation", package="sordino.privacy.allocations")
"""All allocations by name, the values of ``privacy.allocation``."""

Blocks: TypeAlias = tuple[Group, ...]
"""What is clipped as one vector, each a union of groups of the layout; blocks tile the flat vector."""


@dataclass(frozen=True, slots=True)
class AllocationState:
    """What an allocation has learned so far, apart from its options. Goes into the checkpoint.

    Attributes:
        rounds: number of rounds observed.
        statistics: named lists with one number a block.
    """

    rounds: int = 0
    statistics: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReleasedNorms:
    """What a round's release shows of each block.

    Attributes:
        norm_squared: squared norm of the block of the noisy mean update.
        noise_std: standard deviation of the noise on each of its coordinates, s_g / n.
        size: number of coordinates, p_g.
        clip_rate: noisy fraction of the clients whose block was larger than its bound; empty unless the allocation asks
            for it with `Allocation.reads_clip_rates`.
        over_rate: noisy fraction of the clients whose whole update was larger than C; None unless C is tracked.
    """

    norm_squared: tuple[float, ...]
    noise_std: tuple[float, ...]
    size: tuple[int, ...]
    clip_rate: tuple[float, ...] = ()
    over_rate: float | None = None


@dataclass(frozen=True, slots=True)
class ClipBounds:
    """Each block with its clip norm C_b; the squares add up to C**2."""

    blocks: Blocks
    norms: tuple[float, ...]

    @property
    def total(self) -> float:
        """C = sqrt(sum C_b**2): the most that one clipped update can weigh."""
        return math.sqrt(math.fsum(norm * norm for norm in self.norms))


class Allocation(ABC):
    """Divides the clip norm C over blocks. Subclasses are frozen dataclasses whose fields are their options.

    Formal guarantee: whatever `shares` returns, the bounds satisfy ``sum_b C_b**2 = C**2``, so the L2 sensitivity of
    the sum of clipped updates to adding or removing one client is C for every allocation.

    | shares | result |
    |---|---|
    | one is 0 | that block's bound is 0: its update is zeroed |
    | all 0, negative, NaN or infinite | PrivacyError |
    """

    name: ClassVar[str]

    def blocks(self, layout: ParameterLayout) -> Blocks:
        """Which groups are clipped together; by default each by itself."""
        return layout.groups

    def pools(self, layout: ParameterLayout) -> Mapping[str, tuple[int, ...]]:
        """Named sets of block indices for which the plan states an effective multiplier."""
        return {"all": tuple(range(len(self.blocks(layout))))}

    @abstractmethod
    def shares(self, blocks: Blocks, state: AllocationState) -> Sequence[float]:
        """A weight >= 0 for each block; only ratios matter."""

    def observe(self, state: AllocationState, released: ReleasedNorms) -> AllocationState:  # noqa: ARG002
        """The state for the next round, from what the last release showed."""
        return state

    @property
    def reads_clip_rates(self) -> bool:
        """Whether `observe` wants `ReleasedNorms.clip_rate`, which the plan then releases, noised and accounted."""
        return False

    @property
    def aimed_clip_rate(self) -> float:
        """The clip rate that `observe` steers to, between 0 and 1; clients who do not answer count as this much clipped."""
        return 0.5

    @property
    def reads_raw_norms(self) -> bool:
        """Whether `observe` is given the clients' own norms: an unaccounted release that every report flags."""
        return False

    @final
    def bounds(self, layout: ParameterLayout, state: AllocationState, clip_norm: float) -> ClipBounds:
        """Clip norms ``C_b = C sqrt(w_b / sum w)``.

        Raises:
            PrivacyError: shares that are not finite, negative or all zero.
        """
        blocks = self.blocks(layout)
        weights = [float(weight) for weight in self.shares(blocks, state)]
        largest = max(weights, default=0.0)
        sound = len(weights) == len(blocks) and all(math.isfinite(w) and w >= 0 for w in weights) and largest > 0
        if not sound:
            raise PrivacyError(
                f"allocation {self.name!r} returned {len(weights)} shares {weights[:4]}... for {len(blocks)} blocks: "
                "expected one finite number >= 0 for each, not all zero; correct the allocation or its options."
            )
        total = math.fsum(weight / largest for weight in weights)
        return ClipBounds(blocks, tuple(clip_norm * math.sqrt(weight / largest / total) for weight in weights))
