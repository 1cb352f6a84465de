"""Words off representations: one unit, or none, in each frame, trained by connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import nn

from sordino.models.ctc import Units
from sordino.models.ctc.loss import ctc_loss
from sordino.seeds import Seeds
from sordino.split.corrector import Scorer, in_batch
from sordino.split.exchange import Exchange
from sordino.split.methods.base import Fitted
from sordino.split.readout import Readout
from sordino.split.recordings import Recordings
from sordino.split.side_network import SideNetwork
from sordino.split.tally import Sent

__all__ = ["Transcriber", "Transcripts"]

_LEAST_STD: Final = 1e-6


class Transcriber(Scorer):
    """A side network with a linear layer over units on what it corrects.

    Args:
        network: corrects states.
        width: numbers a frame that it gives.
        units: what is written.
    """

    def __init__(self, network: SideNetwork, *, width: int, units: Units) -> None:
        super().__init__()
        self.network, self.units = network, units
        self.head = nn.Linear(width, len(units.symbols))

    def loss(self, exchange: Exchange, rows: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """``-log P(text | recording)`` a unit."""
        return _loss(self.scores(*in_batch(exchange, rows, states)), exchange, rows, self.units)

    def scores(self, clean: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logarithms of each frame's distribution: float32 [batch, longest, units]."""
        log_probs: torch.Tensor = self.head(self.network(clean, states, mask)).log_softmax(dim=-1)
        return log_probs


@dataclass(frozen=True, kw_only=True)
class Transcripts(Readout):
    """What is said in each recording.

    A linear head on representations as they are is trained by gradient descent on features brought to mean 0 and deviation
    1: this loss has no solver of its own.

    Attributes:
        units: what is written, a public choice.
        seeds: of a linear head's weights and of the order.
        epochs: passes that it is trained for.
        batch_size: recordings of a step.
        lr: its learning rate, falling to zero along a cosine.
    """

    units: Units
    seeds: Seeds
    epochs: int = 60
    batch_size: int = 16
    lr: float = 1e-2

    def learner(self, network: SideNetwork, *, width: int) -> Transcriber:
        """See `Readout.learner`."""
        return Transcriber(network, width=width, units=self.units)

    def fit_head(
        self, train: Exchange, *, features: Callable[[Exchange], torch.Tensor], used: Callable[[Exchange], Sent]
    ) -> Fitted:
        """See `Readout.fit_head`."""
        given = features(train)
        rows = given[train.mask]
        mean, std = rows.mean(dim=0), rows.std(dim=0).clamp_min(_LEAST_STD)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seeds.at("linear head").integer())
            linear = nn.Linear(given.shape[2], len(self.units.symbols))
            optimiser = torch.optim.AdamW(linear.parameters(), lr=self.lr)
            steps = self.epochs * -(-len(train) // self.batch_size)
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
            for _ in range(self.epochs):
                for chosen in torch.randperm(len(train)).split(self.batch_size):
                    log_probs = linear((given[chosen] - mean) / std).log_softmax(dim=-1)
                    loss = _loss(log_probs, train, chosen, self.units)
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
                    schedule.step()

        @torch.no_grad()
        def scores(exchange: Exchange) -> torch.Tensor:
            log_probs: torch.Tensor = linear((features(exchange) - mean) / std).log_softmax(dim=-1)
            return log_probs

        return _FittedLinear(scores, used, used(train))


@dataclass(frozen=True)
class _FittedLinear:
    """See `Fitted`."""

    read: Callable[[Exchange], torch.Tensor]
    used: Callable[[Exchange], Sent]
    sent: Sent

    def scores(self, exchange: Exchange) -> torch.Tensor:
        """See `Fitted.scores`."""
        return self.read(exchange)

    def sent_for(self, exchange: Exchange) -> Sent:
        """See `Fitted.sent_for`."""
        return self.used(exchange)


def _loss(log_probs: torch.Tensor, exchange: Exchange, rows: torch.Tensor, units: Units) -> torch.Tensor:
    recordings = exchange.sequences
    assert isinstance(recordings, Recordings)  # noqa: S101 - only those have transcripts
    return ctc_loss(
        log_probs,
        lengths=recordings.lengths[rows],
        targets=[recordings.targets[row] for row in rows.tolist()],
        blank=units.blank,
    )
