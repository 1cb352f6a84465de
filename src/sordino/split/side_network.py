"""The client's small network, which corrects noisy states with the help of the clean embeddings.

    A_0 = W_e E,   mu_i = sigmoid(g_i),   Z_i = mu_i A_{i-1} + (1 - mu_i) S_i,   A_i = A_{i-1} + T_i(Z_i),   W_up norm(A_L')

S_i are the server's states of the i-th chosen block, ``W_i H_i``, brought to mean 0 and deviation 1 in each feature: the
residual streams of large models grow by orders of magnitude with depth and have features that dwarf the rest, and a gate
between such a stream and A would be no choice.

Source: HiddenEcho (OpenReview ER9BElK8He), equations of the side network; the scaling is ours.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import nn

from sordino._check import at_least
from sordino.errors import ConfigError

__all__ = ["SideNetwork"]

_HEADS: Final = (8, 4, 2, 1)
_LEAST_STD: Final = 1e-6


class SideNetwork(nn.Module):
    """Gates, blocks and residuals.

    Args:
        width: d of the embeddings.
        inner: width of the network, d/r.
        given: width of the states that come: d/r where the server reduces them, d where it does not; the network then has
            a linear map of its own for each block.
        num_layers: L', how many of the server's blocks it sees.
        residual: whether a block adds to the one before (``A_i = A_{i-1} + T_i(Z_i)``), or replaces it.
        dropout: in the blocks.
        causal: whether a token sees only those before it, for generation.

    Attributes:
        gates: g_i; at 0 a state counts as much as what the network had before.

    Raises:
        ConfigError: states that are neither d nor d/r wide.
    """

    embedding_std: torch.Tensor
    mean: torch.Tensor
    std: torch.Tensor

    def __init__(
        self,
        *,
        width: int,
        inner: int,
        given: int,
        num_layers: int,
        residual: bool = True,
        dropout: float = 0.1,
        causal: bool = False,
    ) -> None:
        super().__init__()
        at_least("num_layers", num_layers, 1)
        if given not in (inner, width):
            raise ConfigError(f"states of width {given}: expected {inner} or {width}; ask the server for one of those.")
        self.residual, self.causal = residual, causal
        self.enter = nn.Linear(width, inner)
        self.gates = nn.Parameter(torch.zeros(num_layers))
        self.reduce = nn.ModuleList(
            nn.Identity() if given == inner else nn.Linear(given, inner) for _ in range(num_layers)
        )
        heads = next(number for number in _HEADS if inner % number == 0)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                inner, heads, 2 * inner, dropout, activation="gelu", batch_first=True, norm_first=True
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(inner)
        self.leave = nn.Linear(inner, width)
        self.register_buffer("embedding_std", torch.ones(()))
        self.register_buffer("mean", torch.zeros(num_layers, given))
        self.register_buffer("std", torch.ones(num_layers, given))

    @torch.no_grad()
    def calibrate(self, clean: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> None:
        """Learns the scale of embeddings, and mean and deviation of each feature of the states, on training sequences.

        Shape:
            clean: float32 [batch, tokens, d]
            states: float32 [batch, L', tokens, given]
            mask: bool [batch, tokens]
        """
        self.embedding_std.copy_(clean[mask].std().clamp_min(_LEAST_STD))
        rows = states.transpose(1, 2)[mask]  # [all tokens, L', given]
        self.mean.copy_(rows.mean(dim=0))
        self.std.copy_(rows.std(dim=0).clamp_min(_LEAST_STD))

    def forward(self, clean: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Corrected representations of all tokens.

        Shape:
            clean: float32 [batch, tokens, d]
            states: float32 [batch, L', tokens, given]
            mask: bool [batch, tokens]
            result: float32 [batch, tokens, d]
        """
        corrected: torch.Tensor = self.leave(self.norm(self.trail(clean, states, mask)[-1]))
        return corrected

    def trail(self, clean: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> list[torch.Tensor]:
        """A_1, ..., A_L', each [batch, tokens, inner]; arguments as `forward`."""
        scaled = (states - self.mean[:, None]) / self.std[:, None]
        before = self.enter(clean / self.embedding_std)
        order = nn.Transformer.generate_square_subsequent_mask(mask.shape[1]).isinf() if self.causal else None
        trail = []
        for number, (gate, reduce, block) in enumerate(
            zip(torch.sigmoid(self.gates), self.reduce, self.blocks, strict=True)
        ):
            mixed = gate * before + (1 - gate) * reduce(scaled[:, number])
            after = block(mixed, src_mask=order, src_key_padding_mask=~mask)
            before = before + after if self.residual else after
            trail.append(before)
        return trail
