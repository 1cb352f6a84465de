"""Training a corrector on some states, and scoring with it: what HiddenEcho, its ablations and its controls share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from sordino.split.corrector import Scorer
from sordino.split.exchange import Exchange, Sent
from sordino.split.hidden_states import StateServer
from sordino.split.methods.base import Scene
from sordino.split.side_network import SideNetwork

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
    """

    learner: Scorer
    layers: tuple[int, ...]
    reduction: int | None
    server: StateServer
    sent: Sent

    @torch.no_grad()
    def scores(self, exchange: Exchange) -> torch.Tensor:
        """See `Fitted.scores`."""
        exchange = self._served(exchange)
        states = exchange.states(self.layers, reduction=self.reduction)
        scores = [
            self.learner.scores(exchange.clean[rows], states[rows], exchange.mask[rows])
            for rows in torch.arange(len(exchange)).split(_BATCH)
        ]
        return torch.cat(scores)

    def sent_for(self, exchange: Exchange) -> Sent:
        """See `Fitted.sent_for`."""
        return self._served(exchange).sent(self.layers, reduction=self.reduction)

    def _served(self, exchange: Exchange) -> Exchange:
        return exchange if exchange.server is self.server else exchange.with_server(self.server)


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
        )
        learner = scene.readout.learner(network, width=width)
        network.calibrate(train.clean, train.states(scene.layers, reduction=asked), train.mask)
        scene.mode.train(learner, train, channel=channel, seeds=seeds)
    return FittedCorrector(learner, scene.layers, asked, channel.server, channel.sent)
