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
        return self._made(noised, layers, reduction).masked_fill(~mask[:, None, :, None], 0.0)

    def open(self, *, layers: Sequence[int], reduction: int | None = None) -> _Growth:
        """See `sordino.split.growing.GrowingServer.open`."""
        return _Growth(lambda noised: self._made(noised, layers, reduction))

    def _made(self, noised: torch.Tensor, layers: Sequence[int], reduction: int | None) -> torch.Tensor:
        batch, tokens, width = noised.shape
        key = hashlib.sha256(noised.contiguous().numpy().data).digest()
        return self.make((batch, len(layers), tokens, width // (reduction or 1)), key)


@dataclass
class _Growth:
    """See `sordino.split.growing.Growth`."""

    made: Callable[[torch.Tensor], torch.Tensor]
    tokens: int = 0

    def extend(self, noised: torch.Tensor) -> torch.Tensor:
        self.tokens += noised.shape[1]
        return self.made(noised)

    def close(self) -> None:
        """Nothing is kept."""
