"""What a client trains: a side network, and something that reads a task off it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn
from torch.nn import functional

from sordino.split.exchange import Exchange
from sordino.split.heads import Classifier
from sordino.split.side_network import SideNetwork

__all__ = ["Corrector", "Learner", "Scorer", "in_batch"]


class Learner(nn.Module, ABC):
    """A side network with a task.

    Attributes:
        network: corrects states.
    """

    network: SideNetwork

    @abstractmethod
    def loss(self, exchange: Exchange, rows: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """What training minimises on the sequences of these numbers.

        Shape:
            rows: int64 [batch]
            states: float32 [batch, L', longest, width]
            result: []
        """


def in_batch(
    exchange: Exchange, rows: torch.Tensor, states: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Clean embeddings, states and mask of some sequences, without the places that none of these reaches.

    Shape:
        rows: int64 [batch]
        states: float32 [batch, L', longest of all, width]
        result: [batch, longest of these, d], [batch, L', longest of these, width], [batch, longest of these]
    """
    mask = exchange.mask[rows]
    longest = int(mask.sum(dim=1).max())
    return exchange.clean[rows, :longest], states[:, :, :longest], mask[:, :longest]


class Scorer(Learner):
    """A learner whose answer about a sequence is numbers that come at once, unlike a text that is written."""

    @abstractmethod
    def scores(self, clean: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """What `sordino.split.methods.Fitted.scores` gives of a batch; arguments as `SideNetwork.forward`."""


class Corrector(Scorer):
    """A side network with a classifier on what it corrects."""

    def __init__(self, network: SideNetwork, head: Classifier) -> None:
        super().__init__()
        self.network, self.head = network, head

    def forward(self, clean: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits [batch, classes]; arguments as `SideNetwork.forward`."""
        logits: torch.Tensor = self.head(self.network(clean, states, mask), mask)
        return logits

    def loss(self, exchange: Exchange, rows: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Cross-entropy of the labels."""
        return functional.cross_entropy(self(*in_batch(exchange, rows, states)), exchange.labels[rows])

    def scores(self, clean: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Probability of each class: float32 [batch, classes]."""
        probabilities: torch.Tensor = self(clean, states, mask).softmax(dim=1)
        return probabilities
