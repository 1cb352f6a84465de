"""Training a corrector on some states, and scoring with it: what HiddenEcho, its ablations and its controls share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from sordino.seeds import Seeds
from sordino.split.corrector import Corrector
from sordino.split.exchange import Exchange, Sent
from sordino.split.heads import Classifier
from sordino.split.hidden_states import StateServer
from sordino.split.modes import TrainingMode
from sordino.split.sending import Sender
from sordino.split.side_network import SideNetwork

__all__ = ["FittedCorrector", "fit_corrector"]

_BATCH: Final = 64


@dataclass(frozen=True)
class FittedCorrector:
    """A trained corrector, and where its states come from.

    Attributes:
        corrector: in evaluation mode.
        layers: the blocks.
        reduction: r, or None for full width.
        server: what answers for sequences that it was not trained on.
        sent: bytes that training took.
    """

    corrector: Corrector
    layers: tuple[int, ...]
    reduction: int | None
    server: StateServer
    sent: Sent

    @torch.no_grad()
    def scores(self, exchange: Exchange) -> torch.Tensor:
        """See `Fitted.scores`."""
        exchange = self._served(exchange)
        states = exchange.states(self.layers, reduction=self.reduction)
        logits = [
            self.corrector(exchange.clean[rows], states[rows], exchange.mask[rows])
            for rows in torch.arange(len(exchange)).split(_BATCH)
        ]
        return torch.cat(logits).softmax(dim=1)

    def sent_for(self, exchange: Exchange) -> Sent:
        """See `Fitted.sent_for`."""
        return self._served(exchange).sent(self.layers, reduction=self.reduction)

    def _served(self, exchange: Exchange) -> Exchange:
        return exchange if exchange.server is self.server else exchange.with_server(self.server)


def fit_corrector(
    train: Exchange,
    *,
    classes: int,
    layers: tuple[int, ...],
    reduction: int,
    mode: TrainingMode,
    sender: Sender,
    seeds: Seeds,
    residual: bool = True,
    full_width: bool = False,
) -> FittedCorrector:
    """Trains a side network and its head.

    Args:
        train: the training sequences.
        classes: number of labels.
        layers: the server's blocks that the network sees.
        reduction: r; the network is d/r wide.
        mode: how it is trained.
        sender: for modes that send more than the one draw.
        seeds: of initial weights, dropout and order.
        residual: see `SideNetwork`.
        full_width: take states of width d, and reduce them by maps of the client's own.
    """
    width = train.clean.shape[2]
    asked = None if full_width else reduction
    channel = mode.open(train, layers=layers, reduction=asked, sender=sender, seeds=seeds)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.at("weights").integer())
        inner = width // reduction
        network = SideNetwork(
            width=width,
            inner=inner,
            given=width if full_width else inner,
            num_layers=len(layers),
            residual=residual,
            dropout=mode.dropout,
        )
        corrector = Corrector(network, Classifier(width=width, classes=classes))
        network.calibrate(train.clean, train.states(layers, reduction=asked), train.mask)
        mode.train(corrector, train, channel=channel, seeds=seeds)
    return FittedCorrector(corrector, layers, asked, channel.server, channel.sent)
