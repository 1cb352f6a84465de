"""The whole of what a client trains: side network and head."""

from __future__ import annotations

import torch
from torch import nn

from sordino.split.heads import Classifier
from sordino.split.side_network import SideNetwork

__all__ = ["Corrector"]


class Corrector(nn.Module):
    """A side network with a classifier on what it corrects."""

    def __init__(self, network: SideNetwork, head: Classifier) -> None:
        super().__init__()
        self.network, self.head = network, head

    def forward(self, clean: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits [batch, classes]; arguments as `SideNetwork.forward`."""
        logits: torch.Tensor = self.head(self.network(clean, states, mask), mask)
        return logits
