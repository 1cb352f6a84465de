"""The connector's weights at work: neighbouring frames joined, then projected."""

from __future__ import annotations

import torch
from torch import nn

from sordino.models.connectors import Connector

__all__ = ["FrameStack"]


class FrameStack(nn.Module):
    """Joins ``stack`` frames into one vector and projects it to the decoder's width.

    Args:
        connector: says how many frames are joined and what the projection is.
        frame_width: width of the encoder's output.
        token_width: width of the decoder's embeddings.
    """

    def __init__(self, connector: Connector, *, frame_width: int, token_width: int) -> None:
        super().__init__()
        self.stack = connector.stack
        self.projection = connector.projection(inputs=connector.stack * frame_width, outputs=token_width)

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
