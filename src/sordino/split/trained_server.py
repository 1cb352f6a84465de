"""A server whose reducers, and adapters if wanted, learn from gradients that the client sends. In this process only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import nn

from sordino.errors import ConfigError
from sordino.models.adapters import add_lora
from sordino.models.options import LoraOptions
from sordino.split.hidden_states import ModelCard, public_projection
from sordino.split.local_server import LocalStates

__all__ = ["TrainedServer"]

_ADAPTED: Final = ("self_attn.q_proj", "self_attn.v_proj")


class TrainedServer:
    """A `StateServer` for some fixed blocks and one reduction, whose W_i start at the public projections and are trained.

    Args:
        local: the model.
        layers: the blocks.
        reduction: r.
        lr: learning rate of the server's AdamW.
        lora: whether the model's queries and values get adapters that are trained too; its own weights stay.
    """

    def __init__(
        self, local: LocalStates, *, layers: Sequence[int], reduction: int, lr: float, lora: bool = False
    ) -> None:
        self._local, self._layers, self._reduction = local.copy() if lora else local, tuple(layers), reduction
        card = local.describe()
        self.reducers = nn.ParameterList(public_projection(card, layer, reduction=reduction) for layer in layers)
        if lora:
            add_lora(self._local.stack, component="encoder", targets=_ADAPTED, options=LoraOptions())
        learning = [*self.reducers, *(one for one in self._local.stack.parameters() if one.requires_grad)]
        self._optimiser = torch.optim.AdamW(learning, lr=lr)

    def describe(self) -> ModelCard:
        """The model's card; it does not change with what is trained on top."""
        return self._local.describe()

    def states(
        self, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        """See `StateServer.states`; raises ConfigError for other blocks or another reduction than those trained."""
        if (tuple(layers), reduction) != (self._layers, self._reduction):
            raise ConfigError(
                f"layers {list(layers)} reduced by {reduction}: expected {list(self._layers)} reduced by {self._reduction}, "
                "which is what was trained; ask for those."
            )
        with torch.no_grad():
            return self.forward(noised, mask)

    def forward(self, noised: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """States [batch, L', tokens, d/r] with a graph to what is trained."""
        full = self._local.differentiable_states(noised, mask, layers=self._layers)
        return torch.stack([full[:, number] @ weight.T for number, weight in enumerate(self.reducers)], dim=1)

    def learn(self, states: torch.Tensor, gradient: torch.Tensor) -> None:
        """One step from the gradient that the client sent for what `forward` gave."""
        self._optimiser.zero_grad()
        states.backward(gradient)
        self._optimiser.step()
