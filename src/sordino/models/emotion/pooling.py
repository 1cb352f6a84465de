"""A sequence of any length as one vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import torch

from sordino.errors import DataError

__all__ = ["pool"]


def _change(frames: torch.Tensor) -> torch.Tensor:
    return frames.diff(dim=0).abs().mean(0) if len(frames) > 1 else torch.zeros(frames.shape[1])


_OF: Final[Mapping[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "mean": lambda frames: frames.mean(0),
    "deviation": lambda frames: frames.std(0, correction=0),
    "low": lambda frames: frames.quantile(0.1, dim=0),
    "high": lambda frames: frames.quantile(0.9, dim=0),
    "change": _change,
}


def pool(frames: torch.Tensor, *, statistics: Sequence[str]) -> torch.Tensor:
    """Statistics of one clip's frames, one after another.

    Each clip is pooled alone, over its own frames: no padding, so no mask that something could leak through.

    Shape:
        frames: float32 [frames, width]
        returns: float32 [len(statistics) * width]

    Raises:
        DataError: no frame, another shape, or a value that is not finite.
    """
    if frames.ndim != 2 or not frames.numel():
        raise DataError(
            f"a modality's frames have shape {tuple(frames.shape)}: expected [frames, width] with at least one frame; leave "
            "the modality out of clips that lack it."
        )
    vector = torch.cat([_OF[name](frames.float()) for name in statistics])
    if not torch.isfinite(vector).all():
        raise DataError("a modality's frames hold NaN or infinity; leave the modality out of that clip.")
    return vector
