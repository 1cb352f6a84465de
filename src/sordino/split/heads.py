"""What the client reads off corrected representations."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["Classifier", "pooled"]


def pooled(tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over the tokens that are there.

    Shape:
        tokens: [batch, tokens, width]
        mask: bool [batch, tokens]
        result: [batch, width]
    """
    weights = mask[:, :, None].to(tokens.dtype)
    return (tokens * weights).sum(dim=1) / weights.sum(dim=1)


class Classifier(nn.Module):
    """A linear layer on the mean of a sequence's tokens."""

    def __init__(self, *, width: int, classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, classes)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits.

        Shape:
            tokens: float32 [batch, tokens, width]
            mask: bool [batch, tokens]
            result: float32 [batch, classes]
        """
        logits: torch.Tensor = self.linear(pooled(tokens, mask))
        return logits
