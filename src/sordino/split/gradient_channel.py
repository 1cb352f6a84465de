"""What the modes share in which the client sends gradients and the server learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import torch

from sordino.errors import ConfigError
from sordino.seeds import Seeds
from sordino.split.bottleneck import Bottleneck
from sordino.split.corrector import Learner
from sordino.split.exchange import Exchange
from sordino.split.local_server import LocalStates
from sordino.split.tally import Sent, Tally
from sordino.split.trained_server import TrainedServer

__all__ = ["GradientChannel", "LearningServer", "open_channel"]

_NUMBER: Final = 4
"""Bytes of a float32 or int32."""
_Pay: TypeAlias = Callable[[int], torch.Tensor]
_Release: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class LearningServer(Protocol):
    """The options of a mode that decide what the server learns."""

    @property
    def server_lr(self) -> float: ...
    @property
    def bottleneck(self) -> float: ...
    @property
    def beta(self) -> float: ...
    @property
    def lora(self) -> bool: ...


@dataclass(kw_only=True)
class GradientChannel:
    """States with a graph at the server, and gradients on their way back.

    Attributes:
        exchange: the training sequences.
        server: learns.
        bottleneck: trained beside, or None.
        weight: a, of the bottleneck's loss.
        pay: called before each epoch; gives the noised embeddings of that epoch, padded.
        release: what is sent of a batch's gradient.
        sent: bytes so far.
        tally: counts them.
        received: see `Channel.received`.

    Shape:
        pay: float32 [sequences, longest, d]
        release: float32 [batch, L', longest, d/r], mask [batch, longest] -> the same
    """

    exchange: Exchange
    server: TrainedServer
    bottleneck: Bottleneck | None
    weight: float
    pay: _Pay
    release: _Release
    sent: Sent
    tally: Tally
    received: torch.Tensor

    def begin(self, epoch: int) -> None:
        """See `Channel.begin`."""
        self._noised = self.pay(epoch)

    def states(self, rows: torch.Tensor) -> torch.Tensor:
        """See `Channel.states`."""
        self._graph = self.server.forward(self._noised[rows], self.exchange.mask[rows])
        tokens, (_, layers, _, width) = int(self.exchange.mask[rows].sum()), self._graph.shape
        states = tokens * layers * width
        # Embeddings, lengths and a gradient as large as the states go up; states come down.
        step = Sent(_NUMBER * (tokens * self._noised.shape[2] + len(rows) + states), _NUMBER * states)
        self.sent += step
        self.tally.add(step)
        return self._graph.detach().requires_grad_()

    def loss(self, learner: Learner, rows: torch.Tensor, states: torch.Tensor) -> torch.Tensor | float:
        """The bottleneck's loss, after its estimators were sharpened on the batch."""
        if self.bottleneck is None:
            return 0.0
        mask = self.exchange.mask[rows]
        trail = [one[mask] for one in learner.network.trail(self.exchange.clean[rows], states, mask)]
        noised, tokens = self._noised[rows][mask], states.transpose(1, 2)[mask]
        self.bottleneck.sharpen(noised, tokens, trail)
        loss: torch.Tensor = self.weight * self.bottleneck(noised, tokens, trail)
        return loss

    def give_back(self, states: torch.Tensor, rows: torch.Tensor) -> None:
        """Sends the gradient at the states, as the mode releases it."""
        if states.grad is not None:
            released = self.release(states.grad, self.exchange.mask[rows])
            self.received[rows] += released
            self.server.learn(self._graph, released)


def open_channel(
    options: LearningServer,
    exchange: Exchange,
    *,
    layers: tuple[int, ...],
    reduction: int | None,
    pay: _Pay,
    release: _Release,
    tally: Tally,
    seeds: Seeds,
) -> GradientChannel:
    """A channel to a server in this process.

    Raises:
        ConfigError: the model is elsewhere, or its states are not reduced.
    """
    if not isinstance(exchange.server, LocalStates) or reduction is None:
        raise ConfigError(
            "this mode trains reducers at the server: expected the model in this process and a reduction; set server.place "
            '= "in-process" and model.reduction, or choose training = "client-only".'
        )
    card = exchange.server.describe()
    server = TrainedServer(exchange.server, layers=layers, reduction=reduction, lr=options.server_lr, lora=options.lora)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.at("bottleneck").integer())
        bottleneck = (
            Bottleneck(width=card.width, inner=card.width // reduction, num_layers=len(layers), beta=options.beta)
            if options.bottleneck
            else None
        )
    return GradientChannel(
        exchange=exchange,
        server=server,
        bottleneck=bottleneck,
        weight=options.bottleneck,
        pay=pay,
        release=release,
        sent=exchange.sent(
            layers, reduction=reduction
        ),  # the side network is calibrated on the states at the beginning
        tally=tally,
        received=torch.zeros_like(exchange.states(layers, reduction=reduction)),
    )
