"""Poisson cohorts that nobody but the nodes themselves draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino.privacy import CohortSampler, Poisson
from sordino.privacy.events import GaussianEvent
from sordino.privacy.noise import Stream

__all__ = ["DrawnAtNodes"]


@dataclass(frozen=True, slots=True)
class DrawnAtNodes(CohortSampler):
    """Asks every node in each round; a node draws each of its own clients with probability q, and sums those.

    The guarantee is that of ``poisson``, if the nodes draw and clip as told. It is not registered by a name: in one process
    nobody would draw at all.
    """

    poisson: Poisson
    nodes: int | None = None

    @property
    def parties(self) -> int | None:
        """The nodes, where their number was made sure of."""
        return self.nodes

    def expected(self, population: int) -> float:
        """The divisor qK, over all clients of all nodes."""
        return self.poisson.expected(population)

    def draw(self, available: Sequence[str], *, population: int, stream: Stream) -> tuple[str, ...]:  # noqa: ARG002
        """Every node."""
        return tuple(available)

    def event(self, noise_multiplier: float, *, population: int) -> GaussianEvent:
        """Poisson-sampled Gaussian, for one client added or left out."""
        return self.poisson.event(noise_multiplier, population=population)
