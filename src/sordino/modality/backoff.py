"""Over-deletion control: how much of a released change is kept, so that the modalities that remain stay useful."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from sordino.modality.case import Case
from sordino.modality.options import BackOff
from sordino.models.emotion import Branch, EmotionNetwork
from sordino.models.emotion.network import objective

__all__ = ["Kept", "back_off"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept of a released change.

    Attributes:
        share: 1 for all of it, 0 for none: then the branch is the public reference.
        loss: rise of the loss on public validation clips against the reference, in nats (or squared units).
        tried: loss for each share that was tried.
    """

    share: float
    loss: float
    tried: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """For the certificate."""
        return {"share": self.share, "loss": self.loss, "tried": self.tried}


def back_off(options: BackOff, case: Case, released: Callable[[float], Branch]) -> tuple[Branch, Kept]:
    """The branch with the largest share of a released change that is within the bound.

    Args:
        options: the bound.
        case: gives reference and validation clips.
        released: the branch with a share of the change, 0 for the reference.
    """
    floor = _validation_loss(case.with_branch(released(0.0)), case)
    tried: dict[str, float] = {}
    for share in (*(0.5**step for step in range(options.halvings + 1)), 0.0):
        branch = released(share)
        loss = _validation_loss(case.with_branch(branch), case) - floor
        tried[f"{share:g}"] = loss
        if loss <= options.max_loss:
            break
    return branch, Kept(share, loss, tried)


@torch.no_grad()
def _validation_loss(network: EmotionNetwork, case: Case) -> float:
    """Mean loss of the public validation clips with all their modalities: without the withdrawn one nothing changes."""
    network.eval()
    return float(objective(network(case.validation), case.validation.targets))
