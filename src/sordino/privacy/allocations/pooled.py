"""Fixed fractions of the budget for pools of components, each clipped as one vector."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.layout import Group, ParameterLayout, merged
from sordino.privacy.allocations.base import ALLOCATIONS, Blocks
from sordino.privacy.allocations.split import AlphaSplit

__all__ = ["Pooled"]


@ALLOCATIONS.register("pooled")
@dataclass(frozen=True, slots=True)
class Pooled(AlphaSplit):
    """The pools of `alpha-split`, each clipped as **one** vector to ``C sqrt(fraction)``.

    Clipping a pool tensor by tensor shrinks each by its own factor and so turns the update; clipping it as one keeps its
    direction and cuts only when the pool as a whole is too long. Of all ways to bring a pool within its bound, scaling
    moves it least.

    Proof of sensitivity: pools tile the vector and their squared bounds add up to C**2, as for every allocation.
    """

    def blocks(self, layout: ParameterLayout) -> Blocks:
        """One block a pool, whatever the grouping."""
        self.require_known(layout)
        members: dict[str, list[Group]] = {}
        for component in layout.grouped("component").groups:
            members.setdefault(self.pool_of(component.name), []).append(component)
        return tuple(
            Group(
                pool,
                tuple(component.name for component in components),
                merged(part for component in components for part in component.slices),
            )
            for pool, components in members.items()
        )
