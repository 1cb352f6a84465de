"""One clip norm for the whole update: plain DP-FedAvg."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino.layout import Group, ParameterLayout
from sordino.privacy.allocations.base import ALLOCATIONS, Allocation, AllocationState, Blocks

__all__ = ["Flat"]


@ALLOCATIONS.register("flat")
@dataclass(frozen=True, slots=True)
class Flat(Allocation):
    """The update is clipped as one vector to C.

    Source: McMahan et al., Learning Differentially Private Recurrent Language Models, 2018.
    """

    def blocks(self, layout: ParameterLayout) -> Blocks:
        """A single block holding everything."""
        return (Group("all", tuple(layout.components), ((0, layout.size),)),)

    def shares(self, blocks: Blocks, state: AllocationState) -> Sequence[float]:  # noqa: ARG002
        """All of it."""
        return [1.0]
