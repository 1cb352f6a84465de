"""Clip norms by number of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino.privacy.allocations.base import ALLOCATIONS, Allocation, AllocationState, Blocks

__all__ = ["Dim"]


@ALLOCATIONS.register("dim")
@dataclass(frozen=True, slots=True)
class Dim(Allocation):
    """w_g = p_g, so C_g = C sqrt(p_g / p): the same budget for every coordinate (PFL-Dim)."""

    def shares(self, blocks: Blocks, state: AllocationState) -> Sequence[float]:  # noqa: ARG002
        """p_g for each block."""
        return [float(block.size) for block in blocks]
