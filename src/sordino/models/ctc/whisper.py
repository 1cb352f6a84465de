"""A Whisper-type encoder as the body of a recogniser, for speech of any length up to the window."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F
from transformers.models.whisper.modeling_whisper import sinusoids

from sordino.errors import ConfigError
from sordino.models.checkpoints import without_progress_bars
from sordino.models.ctc.parts import FRAMES_PER_S, Front, Parts, Saveable
from sordino.models.ctc.units import Units
from sordino.models.encoders import load_encoder

__all__ = ["ENCODER", "WhisperFront", "load_whisper"]

ENCODER: Final = "encoder"
"""Where a saved recogniser of this kind has its encoder, beside the output layer and the units."""

_HEAD: Final = "head.safetensors"
_SINUSOID_TOLERANCE: Final = 1e-2
"""Published tables are sinusoids rounded to half precision."""


class WhisperFront(Front):
    """Two convolutions over the log-mels, and sinusoids for the places in time.

    transformers' encoder takes one length only, that of its table. Here a clip has as many frames as it has audio, and the
    table as many rows as the window needs, which is exact where it is a table of sinusoids: a row does not depend on how
    many there are.

    Args:
        encoder: a Whisper encoder.
        window_s: the longest clip.

    Raises:
        ConfigError: the window is longer than a table that was learned.
    """

    def __init__(self, encoder: Any, *, window_s: float) -> None:
        super().__init__()
        self.num_mels = encoder.config.num_mel_bins
        self.width = encoder.config.d_model
        self.conv1 = encoder.conv1
        self.conv2 = encoder.conv2
        table = encoder.embed_positions.weight.detach()
        self.positions: torch.Tensor
        self.register_buffer("positions", _rows(table, -(-round(window_s * 1000) * FRAMES_PER_S // 1000)))

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        states = self.sound(clip)
        return states + self.positions[: len(states)]

    def sound(self, clip: torch.Tensor) -> torch.Tensor:
        """What the convolutions make of a clip, before anything says where in time a frame is; shapes as `forward`."""
        states = F.gelu(self.conv1(clip[None]))
        return F.gelu(self.conv2(states))[0].T


def _rows(table: torch.Tensor, count: int) -> torch.Tensor:
    if count <= len(table):
        return table[:count].clone()
    longer = sinusoids(count, table.shape[1])
    if float((longer[: len(table)] - table).abs().max()) > _SINUSOID_TOLERANCE:
        raise ConfigError(
            f"model.window_s asks for {count} positions, but the encoder's {len(table)} are no sinusoids that could be "
            f"continued; lower model.window_s to at most {len(table) / FRAMES_PER_S:g}."
        )
    return torch.cat([table, longer[len(table) :].to(table)])


@dataclass(frozen=True)
class _WhisperModel(Saveable):
    encoder: Any

    def save(self, folder: Path, *, layers: Sequence[nn.Module], head: nn.Linear, units: Units) -> None:
        """The encoder as transformers saves it, the output layer beside it."""
        encoder = self.encoder
        encoder.config = deepcopy(encoder.config)
        encoder.config.encoder_layers = len(layers)
        encoder.layers = nn.ModuleList(layers)
        weights = {name: tensor.detach().cpu().clone() for name, tensor in encoder.state_dict().items()}
        with without_progress_bars():
            encoder.save_pretrained(folder / ENCODER, state_dict=weights)
        save_file({name: tensor.detach().cpu().clone() for name, tensor in head.state_dict().items()}, folder / _HEAD)
        units.write(folder)


def load_whisper(source: str, *, window_s: float) -> Parts:
    """Takes a Whisper-type model apart, or a recogniser of that kind which sordino has saved.

    Raises:
        ConfigError: no such model, weights missing, or a window that its positions cannot fill.
    """
    folder = Path(source)
    saved = (folder / _HEAD).is_file()
    encoder: Any = load_encoder(
        str(folder / ENCODER) if saved else source, window_s=None, stack=1, dtype=torch.float32, what="model.base"
    )
    head, units = _head(folder, encoder.config.d_model) if saved else (None, None)
    return Parts(
        front=WhisperFront(encoder, window_s=window_s),
        layers=tuple(encoder.layers),
        norm=encoder.layer_norm,
        head=head,
        units=units,
        model=_WhisperModel(encoder),
    )


def _head(folder: Path, width: int) -> tuple[nn.Linear, Units]:
    units, weights = Units.read(folder), load_file(folder / _HEAD)
    if units is None or weights["weight"].shape != (len(units.symbols), width):
        raise ConfigError(
            f"model.base = {str(folder)!r}: its output layer is {tuple(weights['weight'].shape)}, which fits neither its "
            "encoder nor its units; save the recogniser again."
        )
    head = nn.Linear(width, len(units.symbols))
    head.load_state_dict(weights)
    return head, units
