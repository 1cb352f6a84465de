"""Which of a model's blocks are worth returning, by integrated gradients."""

from __future__ import annotations

import torch

from sordino.split.local_server import LocalStates

__all__ = ["contributions", "strongest"]


def contributions(server: LocalStates, embeddings: torch.Tensor, mask: torch.Tensor, *, steps: int = 5) -> torch.Tensor:
    """How much each block's output contributes to the last one's.

        C_i = (H_i / m) sum_{j=1..m} d sum(Hhat_L) / d Hhat_i  at  Hhat_i = (j / m) H_i

    H_i is the *output* of block i. The figure of a block is the mean magnitude of C_i over features and over tokens that are
    no padding. The server computes it on embeddings that it has anyway, so it costs no privacy.

    Args:
        server: the model; its owner alone can do this.
        embeddings: noised ones of a calibration set.
        mask: which places hold a token.
        steps: m.

    Shape:
        embeddings: float32 [batch, tokens, d]
        mask: bool [batch, tokens]
        result: float32 [L], block 1 first
    """
    num_blocks = server.describe().num_blocks
    outputs = server.states(embeddings, mask, layers=range(1, num_blocks + 1))
    figures = []
    for layer in range(1, num_blocks + 1):
        output = outputs[:, layer - 1]  # [batch, tokens, d]
        total = torch.zeros_like(output)
        for step in range(1, steps + 1):
            scaled = (step / steps * output).requires_grad_()
            last = server.last_state_after(layer, scaled, embeddings, mask)
            (gradient,) = torch.autograd.grad(last[mask].sum(), scaled)
            total += gradient
        figures.append((output / steps * total)[mask].abs().mean())
    return torch.stack(figures)


def strongest(figures: torch.Tensor, *, keep: int) -> tuple[int, ...]:
    """The ``keep`` blocks of the largest figures, counted from 1, in the order of the model."""
    return tuple(sorted(int(index) + 1 for index in figures.topk(min(keep, len(figures))).indices))
