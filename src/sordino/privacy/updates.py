"""The four kinds of update, as types: raw, clipped, summed, released.

Only `Update` can be made from a tensor. The others are abstract here and concrete in `sordino.privacy.plan`, so that a
type checker refuses a raw update, or a sum without noise, where the server's model takes a `Released`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from sordino.privacy.allocations import ReleasedNorms

__all__ = ["ClippedSum", "ClippedUpdate", "Released", "Update"]


@dataclass(frozen=True, slots=True, repr=False)
class Update:
    """What a client's training changed: parameters after minus before. Its text form never shows values.

    Shape:
        values: float32 [layout.size]
    """

    values: torch.Tensor

    def __repr__(self) -> str:
        return f"Update({self.values.numel()} values, not shown)"


class ClippedUpdate(ABC):
    """An update whose blocks respect their bounds. Still one client's: no text form, log or record may show it.

    Attributes:
        norms: the blocks' norms before clipping. Private: for debug telemetry and ``ema_source = "raw"`` only.
        watched_norms: likewise of the groups that the plan watches; empty unless it watches some.
        finite: False when the update held NaN or infinity and therefore counts as zero.
    """

    norms: tuple[float, ...]
    watched_norms: tuple[float, ...]
    finite: bool


class ClippedSum(ABC):
    """The sum of clipped updates, added up in float64 so that the order does not matter at float32's precision."""

    @abstractmethod
    def add(self, update: ClippedUpdate) -> None:
        """Adds one client's update."""


class Released(ABC):
    """The noisy mean: the only thing that the server's model, records and allocations read.

    Attributes:
        norms: what it shows of each block.
    """

    norms: ReleasedNorms

    @property
    @abstractmethod
    def values(self) -> torch.Tensor:
        """``(sum + noise) / n``: float32 [layout.size]."""
