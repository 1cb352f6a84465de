"""Over-deletion control: how much of a released change is kept, so that the modalities that remain stay useful."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from sordino.modality.case import Case
from sordino.modality.options import BackOff
from sordino.models.emotion import Branch, EmotionNetwork
from sordino.models.emotion.network import objective

__all__ = ["Kept", "back_off", "flat"]


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


def back_off(options: BackOff, case: Case, change: torch.Tensor) -> tuple[Branch, Kept]:
    """The reference with the largest share of a released change that is within the bound.

    Args:
        options: the bound.
        case: gives reference and validation clips.
        change: what was released, float [size] of the branch.
    """
    floor = _validation_loss(case.with_branch(case.reference), case)
    tried: dict[str, float] = {}
    for share in (*(0.5**step for step in range(options.halvings + 1)), 0.0):
        branch = _moved(case.reference, share * change)
        loss = _validation_loss(case.with_branch(branch), case) - floor
        tried[f"{share:g}"] = loss
        if loss <= options.max_loss:
            break
    return branch, Kept(share, loss, tried)


def flat(branch: Branch) -> torch.Tensor:
    """The branch's parameters as one vector, float32 [size]."""
    return parameters_to_vector(branch.parameters()).detach()


def _moved(reference: Branch, change: torch.Tensor) -> Branch:
    """The reference with a change, under its spectral bounds again: both read released values only."""
    moved = copy.deepcopy(reference)
    vector_to_parameters(flat(reference) + change.float(), moved.parameters())
    moved.constrain()
    return moved.eval()


@torch.no_grad()
def _validation_loss(network: EmotionNetwork, case: Case) -> float:
    """Mean loss of the public validation clips with all their modalities: without the withdrawn one nothing changes."""
    network.eval()
    return float(objective(network(case.validation), case.validation.targets))
