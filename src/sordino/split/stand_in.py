"""Servers that know nothing, for controls: what does the side network make of clean embeddings alone?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from sordino.split.hidden_states import ModelCard

__all__ = ["StandIn"]


@dataclass(frozen=True)
class StandIn:
    """A `StateServer` that is shown embeddings and does not look at them.

    Attributes:
        card: of the model that it stands in for.
        make: its states, from their shape and a key that stands for the batch, the same for the same one.
    """

    card: ModelCard
    make: Callable[[tuple[int, ...], bytes], torch.Tensor]

    def describe(self) -> ModelCard:
        """The model that it stands in for."""
        return self.card

    def states(
        self, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        """States of the right shape; see `StateServer.states`."""
        batch, tokens, width = noised.shape
        key = hashlib.sha256(noised.contiguous().numpy().data).digest()
        states = self.make((batch, len(layers), tokens, width // (reduction or 1)), key)
        return states.masked_fill(~mask[:, None, :, None], 0.0)
