"""What server and clients say to each other."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sordino.privacy import Bounding, ClippedUpdate
from sordino.seeds import Seeds

__all__ = ["Reply", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """What one client is asked to do in one round.

    Attributes:
        client: its id.
        start: the global adapter, float32 [layout.size]; shared by all tasks of the round, never changed.
        bounding: bounds the update before it leaves the client, and again where it arrives over a wire.
        seeds: the client's own random streams in this round, for order and dropout of units; never for noise.
    """

    client: str
    start: torch.Tensor
    bounding: Bounding
    seeds: Seeds

    def drops_out(self, rate: float) -> bool:
        """Whether the client never answers, where a run rehearses unreliable sites."""
        return rate > 0 and self.seeds.at("drop-out").generator().random() < rate


@dataclass(frozen=True, slots=True)
class Reply:
    """What one client sends back.

    Attributes:
        client: its id.
        update: the clipped update, which only a sum may read.
        loss: mean training loss. Outside the guarantee: shown under debug telemetry only.
    """

    client: str
    update: ClippedUpdate
    loss: float
