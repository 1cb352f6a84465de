"""The client's part of a Whisper: convolutions over log-mels, and the first layers if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import nn

from sordino._check import at_least
from sordino.errors import ConfigError, DataError
from sordino.models.ctc.whisper import WhisperFront
from sordino.models.encoders import load_encoder
from sordino.records import replace_file
from sordino.split.noise import Space
from sordino.split.stacks import speech_source

__all__ = ["PublicFrames", "SpeechFront"]


class SpeechFront:
    """Hears one clip at a time, and gives what would enter the server's first block.

    A frame is held apart from what everybody knows of it, its place in time: only the rest needs noise, and it is shorter.

    | layers that the client keeps | one frame hears |
    |---|---|
    | 0 | about 65 ms of sound, and the loudest moment of the clip, by which log-mels are scaled |
    | 1 or more | the whole clip: attention mixes its frames |

    Args:
        front: the convolutions and the table of places.
        layers: the first layers of the encoder, in evaluation mode.
    """

    def __init__(self, front: WhisperFront, layers: Sequence[nn.Module]) -> None:
        self._front, self._layers = front.eval().requires_grad_(requires_grad=False), list(layers)
        self.num_mels, self.width, self.positions = front.conv1.in_channels, front.width, front.positions

    @classmethod
    def load(cls, source: str, *, client_layers: int, window_s: float) -> Self:
        """Takes the front end out of a Whisper.

        Args:
            source: folder or hub id; "pocket" for the shipped encoder.
            client_layers: how many layers the client keeps.
            window_s: the longest clip.

        Raises:
            ConfigError: no such model, another kind of model, no layer left for the server, or a window that its places in
                time cannot fill.
        """
        encoder: Any = load_encoder(
            speech_source(source), window_s=None, stack=1, dtype=torch.float32, what="model.source"
        )
        at_least("model.client_layers", client_layers, 0)
        if client_layers >= len(encoder.layers):
            raise ConfigError(
                f"model.client_layers = {client_layers}: {source!r} has {len(encoder.layers)} layers; expected at least one "
                "for the server; keep fewer."
            )
        encoder.eval().requires_grad_(requires_grad=False)
        return cls(WhisperFront(encoder, window_s=window_s), list(encoder.layers)[:client_layers])

    @torch.no_grad()
    def __call__(self, clip: torch.Tensor) -> torch.Tensor:
        """Frames of a clip without their places in time.

        Shape:
            clip: float32 [num_mels, 100 a second]
            result: float32 [frames, d], 50 a second
        """
        frames = self._front.sound(clip)
        if not self._layers:
            return frames
        places = self.positions[: len(frames)]
        states = (frames + places)[None]
        for layer in self._layers:
            states = layer(states, attention_mask=None)
        return states[0] - places

    def places(self, lengths: Sequence[int]) -> torch.Tensor:
        """Places in time of all frames of clips of some lengths, one clip after the other: float32 [all frames, d]."""
        return torch.cat([self.positions[:length] for length in lengths])


@dataclass(frozen=True)
class PublicFrames:
    """What recordings that protect nobody tell about frames in general, so that less noise is needed.

    Attributes:
        centre: their mean, which is taken off every frame before the noise, and put back after it.
        radius: the largest distance of one of them from it.

    Shape:
        centre: float32 [d]
    """

    centre: torch.Tensor
    radius: float

    @classmethod
    def of(cls, frames: torch.Tensor) -> Self:
        """From frames [all frames, d] of public recordings."""
        centre = frames.double().mean(dim=0)
        return cls(centre.float(), float(torch.linalg.vector_norm(frames - centre, dim=1).max()))

    def space(self, max_frames: int) -> Space:
        """Where frames lie, as seen from the centre, of recordings of at most so many."""
        return Space(width=len(self.centre), radius=self.radius, max_tokens=max_frames, part="frame")

    def save(self, path: Path) -> None:
        """Writes them."""
        from safetensors.torch import save

        replace_file(path, save({"centre": self.centre, "radius": torch.tensor(self.radius, dtype=torch.float64)}))

    @classmethod
    def load(cls, path: Path) -> Self:
        """What `save` wrote.

        Raises:
            DataError: damaged, or not there.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            kept = load_file(path)
            return cls(kept["centre"], float(kept["radius"]))
        except (OSError, KeyError, SafetensorError) as error:
            raise DataError(f"{path} is not as sordino wrote it ({error}); restore it, or train again.") from None
