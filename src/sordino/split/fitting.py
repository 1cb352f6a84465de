"""Training a corrector on some states, and scoring with it: what HiddenEcho, its ablations and its controls share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import torch

from sordino.split.corrector import Scorer
from sordino.split.exchange import Exchange
from sordino.split.hidden_states import StateServer
from sordino.split.methods.base import Scene
from sordino.split.side_network import SideNetwork
from sordino.split.tally import Sent, Tally

__all__ = ["FittedCorrector", "fit_corrector"]

_BATCH: Final = 64


@dataclass(frozen=True)
class FittedCorrector:
    """A trained corrector, and where its states come from.

    Attributes:
        learner: in evaluation mode.
        layers: the blocks.
        reduction: r, or None for full width.
        server: what answers for sequences that it was not trained on.
        sent: bytes that training took.
        tally: counts what that server is asked; None where the exchanges tell.
        received: what the server got back while it learned; see `sordino.split.modes.base.Channel.received`.
    """

    learner: Scorer
    layers: tuple[int, ...]
    reduction: int | None
    server: StateServer
    sent: Sent = field(default_factory=Sent)
    tally: Tally | None = None
    received: torch.Tensor | None = None
    _asked: dict[Exchange, Exchange] = field(default_factory=dict, repr=False)

    @torch.no_grad()
    def scores(self, exchange: Exchange) -> torch.Tensor:
        """See `Fitted.scores`."""
        exchange = self.served(exchange)
        states = exchange.states(self.layers, reduction=self.reduction)
        scores = [
            self.learner.scores(exchange.clean[rows], states[rows], exchange.mask[rows])
            for rows in torch.arange(len(exchange)).split(_BATCH)
        ]
        return torch.cat(scores)

    def sent_for(self, exchange: Exchange) -> Sent:
        """See `Fitted.sent_for`."""
        return self.served(exchange).sent(self.layers, reduction=self.reduction)

    def served(self, exchange: Exchange) -> Exchange:
        """The exchange with the server that has learned; one for each, so that nothing is asked twice."""
        if exchange.server is self.server:
            return exchange
        if exchange not in self._asked:
            self._asked[exchange] = exchange.with_server(self.server, tally=self.tally)
        return self._asked[exchange]


def fit_corrector(scene: Scene, *, residual: bool = True, full_width: bool = False) -> FittedCorrector:
    """Trains a side network and its head on the training sequences of a scene; an ablation changes the scene before.

    Args:
        scene: what may be used; the network is d/r wide.
        residual: see `SideNetwork`.
        full_width: take states of width d, and reduce them by maps of the client's own.
    """
    train, seeds, width = scene.train, scene.seeds, scene.train.clean.shape[2]
    asked = None if full_width else scene.reduction
    channel = scene.mode.open(train, layers=scene.layers, reduction=asked, sender=scene.sender, seeds=seeds)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.at("weights").integer())
        inner = width // scene.reduction
        network = SideNetwork(
            width=width,
            inner=inner,
            given=width if full_width else inner,
            num_layers=len(scene.layers),
            residual=residual,
            dropout=scene.mode.dropout,
            causal=scene.readout.causal,
        )
        learner = scene.readout.learner(network, width=width)
        network.calibrate(train.clean, train.states(scene.layers, reduction=asked), train.mask)
        scene.mode.train(learner, train, channel=channel, seeds=seeds)
    return FittedCorrector(
        learner,
        layers=scene.layers,
        reduction=asked,
        server=channel.server,
        sent=channel.sent,
        tally=channel.tally,
        received=channel.received,
    )
