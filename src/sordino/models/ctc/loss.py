"""The loss of a network that writes one unit, or a blank, in each frame."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional as F

__all__ = ["ctc_loss"]


def ctc_loss(
    log_probs: torch.Tensor,
    *,
    lengths: torch.Tensor,
    targets: Sequence[Sequence[int]],
    blank: int,
    num_units: int | None = None,
) -> torch.Tensor:
    """``-log P(text | clip)`` summed over all alignments, a unit of the texts.

    A text that has more units than the clip can write counts as zero: nothing could be learned from it.

    Args:
        log_probs: logarithms of each frame's distribution.
        lengths: frames of each clip.
        targets: the units of each text.
        blank: index of the blank.
        num_units: what to divide the sum by where the clips are part of a larger batch: the units of all of it.

    Shape:
        log_probs: float32 [batch, longest, units]
        lengths: int64 [batch]
        result: []

    Source: Graves et al., Connectionist Temporal Classification, 2006.
    """
    written = torch.tensor([len(target) for target in targets])
    losses = F.ctc_loss(
        log_probs.transpose(0, 1),
        torch.tensor([place for target in targets for place in target], device=log_probs.device, dtype=torch.int64),
        lengths,
        written,
        blank=blank,
        reduction="none",
        zero_infinity=True,
    )
    return losses.sum() / max(1, int(written.sum()) if num_units is None else num_units)
