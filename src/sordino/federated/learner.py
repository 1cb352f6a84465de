"""What a federated method needs of a model: one flat vector, and a way to train it on one client's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from sordino.layout import ParameterLayout
from sordino.privacy import Update
from sordino.seeds import Seeds

__all__ = ["Learner", "LocalResult"]


@dataclass(frozen=True, slots=True)
class LocalResult:
    """Outcome of a client's local training.

    Attributes:
        update: parameters after minus before.
        loss: mean training loss; private.
    """

    update: Update
    loss: float


class Learner(Protocol):
    """A model that can be trained on the data of any client it is given the id of."""

    @property
    def layout(self) -> ParameterLayout:
        """Where the trainable tensors lie in the flat vector."""
        ...

    def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds) -> LocalResult:
        """Trains from ``start`` (float32 [layout.size], unchanged) on the client's own data."""
        ...
