"""The connector's weights at work: neighbouring frames joined, then projected."""

from __future__ import annotations

from typing import Self

import torch
from torch import nn

from sordino.models.connectors import Connector

__all__ = ["FrameStack"]


class FrameStack(nn.Module):
    """Joins ``stack`` frames into one vector and projects it to the decoder's width.

    Args:
        projection: from ``stack`` times the encoder's width to the width of the decoder's embeddings.
        stack: how many frames are joined.
    """

    def __init__(self, projection: nn.Module, *, stack: int) -> None:
        super().__init__()
        self.stack = stack
        self.projection = projection

    @classmethod
    def new(cls, connector: Connector, *, frame_width: int, token_width: int) -> Self:
        """An untrained one, as ``connector`` describes it."""
        projection = connector.projection(inputs=connector.stack * frame_width, outputs=token_width)
        return cls(projection, stack=connector.stack)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """Projects stacked frames.

        Shape:
            frames: float32 [batch, positions, frame_width], positions a multiple of ``stack``.
            returns: float32 [batch, positions / stack, token_width].
        """
        batch, positions, width = frames.shape
        stacked = frames.reshape(batch, positions // self.stack, self.stack * width)
        projected: torch.Tensor = self.projection(stacked)
        return projected
