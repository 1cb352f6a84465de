"""What is added to attention's scores so that nobody looks at padding."""

from __future__ import annotations

import torch

__all__ = ["padding_bias"]


def padding_bias(inside: torch.Tensor) -> torch.Tensor | None:
    """For transformer layers that are called one by one; None where no sequence is padded, which spares the work.

    Shape:
        inside: bool [batch, longest], true for what belongs to its sequence
        result: float32 [batch, 1, 1, longest]
    """
    if bool(inside.all()):
        return None
    bias = torch.zeros(inside.shape, device=inside.device).masked_fill(~inside, torch.finfo(torch.float32).min)
    return bias[:, None, None]
