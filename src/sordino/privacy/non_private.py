"""The plan of a run that promises nothing, so that no run is ever without a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from sordino.privacy.allocations import ClipBounds
from sordino.privacy.allocations.flat import Flat
from sordino.privacy.bounding import Bounding
from sordino.privacy.clipping import Clipper
from sordino.privacy.events import PlainRelease
from sordino.privacy.plan import Plan

__all__ = ["NonPrivate"]


@dataclass(frozen=True)
class NonPrivate(Plan):
    """Plain federated averaging: no clipping, no noise, no guarantee, and the same divisor n = qK."""

    @cached_property
    def bounding(self) -> Bounding:
        """No bound; updates that are not finite still count as zero."""
        bounds = ClipBounds(Flat().blocks(self.layout), (math.inf,))
        return Bounding(Clipper(bounds, self.layout.size, self.layout.digest, watched=self.watched))

    @property
    def noise_stds(self) -> tuple[float, ...]:
        """None."""
        return (0.0,)

    def event(self) -> PlainRelease:
        """A release without noise."""
        return PlainRelease(what="the mean of the clients' updates")

    def client_event(self) -> PlainRelease:
        """Releases without noise."""
        return PlainRelease(what="each client's own update")
