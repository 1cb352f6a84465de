"""The same clip norm for every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino.privacy.allocations.base import ALLOCATIONS, Allocation, AllocationState, Blocks

__all__ = ["Uniform"]


@ALLOCATIONS.register("uniform")
@dataclass(frozen=True, slots=True)
class Uniform(Allocation):
    """w_g = 1, so C_g = C / sqrt(number of groups) (PFL-Uniform)."""

    def shares(self, blocks: Blocks, state: AllocationState) -> Sequence[float]:  # noqa: ARG002
        """1 for each block."""
        return [1.0] * len(blocks)
