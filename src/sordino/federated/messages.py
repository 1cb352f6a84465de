"""What server and clients say to each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from sordino.federated.memory import Moment
from sordino.privacy import Bounding, ClippedUpdate
from sordino.privacy.intake import Upload
from sordino.privacy.local_noise import Noising
from sordino.privacy.sharing import Sharing
from sordino.seeds import Seeds

__all__ = ["Reply", "Task", "seal"]


@dataclass(frozen=True, slots=True)
class Task:
    """What one client is asked to do in one phase of a round.

    Attributes:
        client: its id.
        start: the model that it is given, float32 [layout.size]; tasks may share it, and nobody changes it.
        bounding: bounds the update before it leaves the client, and again where it arrives over a wire.
        seeds: the client's own random streams in this phase, for order and dropout of units; never for noise.
        phase: the phase's name.
        moment: the round's number, and which of its phases it is.
        noising: how the client noises what it sends, or its share of that; None where the server adds the noise.
        sends: whether anything is to be sent in this phase.
    """

    client: str
    start: torch.Tensor
    bounding: Bounding
    seeds: Seeds
    phase: str = "train"
    moment: Moment = (0, 0)
    noising: Noising | Sharing | None = None
    sends: bool = True

    def drops_out(self, rate: float) -> bool:
        """Whether the client never answers, where a run rehearses unreliable sites."""
        return rate > 0 and self.seeds.at("drop-out").generator().random() < rate


@dataclass(frozen=True, slots=True)
class Reply:
    """What one client sends back.

    Attributes:
        client: its id.
        update: the clipped update, which only a sum may read; what `seal` made of it; None in a phase without uploads.
        loss: mean training loss. Outside the guarantee: shown under debug telemetry only.
        steps: optimiser steps that the client took in this phase. Likewise.
    """

    client: str
    update: Upload
    loss: float
    steps: int = 0


def seal(task: Task, reply: Reply) -> Reply:
    """The reply as it leaves the client: where clients add the noise, nothing leaves without."""
    if task.noising is None or not isinstance(reply.update, ClippedUpdate):
        return reply
    place = (task.moment[0], task.phase, task.client)
    return replace(reply, update=task.noising.release(reply.update, place=place))
