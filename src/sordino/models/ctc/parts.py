"""What a recogniser is put together from: a frozen front, transformer layers, a last norm and an output layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import nn

from sordino.models.ctc.units import Units

__all__ = ["FRAMES_PER_S", "Front", "Parts"]

FRAMES_PER_S: Final = 50
"""Frames a second that all of these models give."""


class Front(nn.Module, ABC):
    """Everything before the first transformer layer. It is never trained, so a clip's frames are computed once.

    Attributes:
        num_mels: mel bands of the log-mels it takes; None if it takes samples.
        width: of its frames.
    """

    num_mels: int | None
    width: int

    @abstractmethod
    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        """Frames of one clip, by itself: another clip's length cannot change them.

        Shape:
            clip: float32 [num_mels, 100 a second], an even number of them; or float32 [samples], 16 kHz.
            returns: float32 [frames, width], 50 a second.
        """


@dataclass(frozen=True, kw_only=True)
class Parts:
    """A pretrained model, taken apart.

    Attributes:
        front: frozen.
        layers: transformer layers, each called with states and an additive attention mask.
        norm: what comes between the last layer and the output layer.
        head: the output layer; None where the checkpoint has none.
        units: what the head's outputs mean; None as well then.
        model: the transformers model that the parts belong to, for saving.
    """

    front: Front
    layers: Sequence[nn.Module]
    norm: nn.Module
    head: nn.Linear | None
    units: Units | None
    model: Saveable


class Saveable(ABC):
    """Writes a model, with the layers and the head that it has now, in the layout of its kind."""

    @abstractmethod
    def save(self, folder: Path, *, layers: Sequence[nn.Module], head: nn.Linear, units: Units) -> None:
        """Writes the files; the folder is there."""
