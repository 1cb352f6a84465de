"""An encoder in which nothing is trained: what it makes of a clip never changes, so that once is enough."""

from __future__ import annotations

import json
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel

from sordino.models.fingerprint import fingerprint

__all__ = ["Encoded", "FrozenEncoder"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """What the encoder made of some clips: stands for their log-mels wherever a `SpeechLLM` takes those.

    Shape:
        frames: encoder's dtype [batch, positions, frame width]
    """

    frames: torch.Tensor

    def __len__(self) -> int:
        return len(self.frames)


class FrozenEncoder:
    """Runs an encoder that is not trained, and names what it computes.

    Args:
        encoder: a Whisper encoder without trainable tensors, in evaluation mode.
    """

    def __init__(self, encoder: PreTrainedModel) -> None:
        self._encoder = encoder
        self._hashed: tuple[tuple[tuple[int, int], ...], str] | None = None

    @property
    def digest(self) -> str:
        """Fingerprint of its weights, their number format, its config and the kind of device.

        Weights that were written over or replaced since the last look are read again. Only a write through
        ``tensor.data`` escapes notice, as it escapes that of autograd.
        """
        tensors = list(self._encoder.state_dict(keep_vars=True).values())
        versions = tuple((tensor.data_ptr(), tensor._version) for tensor in tensors)
        if self._hashed is None or self._hashed[0] != versions:
            self._hashed = versions, self._fingerprint()
        return self._hashed[1]

    def _fingerprint(self) -> str:
        return fingerprint(self._encoder, json.dumps(self._encoder.config.to_dict(), sort_keys=True, default=str))

    @torch.no_grad()
    def __call__(self, log_mels: torch.Tensor) -> torch.Tensor:
        """Frames of some windows, in main memory and in the number format that the encoder computes in.

        Shape:
            log_mels: float32 [batch, num_mels, num_frames].
            returns: encoder's dtype [batch, positions, frame width].
        """
        inputs = log_mels.to(self._encoder.device, self._encoder.dtype)
        frames: torch.Tensor = self._encoder(inputs).last_hidden_state
        return frames.cpu()
