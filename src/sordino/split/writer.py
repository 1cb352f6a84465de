"""Writing instead of classifying: the client's network says the next token, over the embedding table that it has."""

from __future__ import annotations

import torch
from torch.nn import functional

from sordino.split.corrector import Scorer
from sordino.split.exchange import Exchange
from sordino.split.sequences import Sequences
from sordino.split.side_network import SideNetwork

__all__ = ["Writer"]


class Writer(Scorer):
    """A causal side network whose output is compared with every row of the embedding table.

    Args:
        network: causal.
        table: the client's embedding table; it is not trained.

    Shape:
        table: float32 [vocabulary, d]
    """

    table: torch.Tensor

    def __init__(self, network: SideNetwork, table: torch.Tensor) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("table", table, persistent=False)

    def forward(self, clean: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits of the token after each: [batch, tokens, vocabulary]; arguments as `SideNetwork.forward`."""
        logits: torch.Tensor = self.network(clean, states, mask) @ self.table.T
        return logits

    def loss(self, exchange: Exchange, rows: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Cross-entropy of the tokens that are to be written; those that are given do not count."""
        sequences, mask = exchange.sequences, exchange.mask[rows]
        assert isinstance(sequences, Sequences)  # noqa: S101 - only texts are written on
        ids = sequences.padded_ids[rows]
        written = mask & (torch.arange(mask.shape[1]) >= sequences.given[rows][:, None])
        logits = self(exchange.clean[rows], states, mask)[:, :-1]
        return functional.cross_entropy(logits[written[:, 1:]], ids[:, 1:][written[:, 1:]])

    def scores(self, clean: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The likeliest token after each, those before it given: int64 [batch, tokens]."""
        likeliest: torch.Tensor = self(clean, states, mask).argmax(dim=2)
        return likeliest
