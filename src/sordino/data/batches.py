"""Utterances in, model input out, with what was computed of recent clips kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from sordino.data.audio import SAMPLE_RATE_HZ, read_audio
from sordino.data.clip_memory import ClipMemory
from sordino.data.features import LogMel
from sordino.data.pauses import split_at_pauses
from sordino.data.shelf import Shelf
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Encoder", "FeatureStore"]


class Encoder(Protocol):
    """What turns log-mels into something else, always the same for the same clip: an encoder that is not trained."""

    @property
    def digest(self) -> str:
        """Fingerprint of everything that its output depends on besides the log-mels."""
        ...

    def __call__(self, log_mels: torch.Tensor) -> torch.Tensor:
        """Output for some windows, in main memory: float32 [windows, num_mels, frames] to [windows, ...]."""
        ...


class FeatureStore:
    """Model input of utterances, computed once for each clip while it stays among the recently used.

    That is the log-mels, or with an `Encoder` its output in their place. Log-mels are rounded to float16 whether they come
    from memory or not, and each clip is transformed and encoded alone, so a result depends neither on its batch nor on
    what was asked before.

    | what happens | then |
    |---|---|
    | the recording is replaced (another size or time of change) | the clip is computed again |
    | the encoder's weights change, or another encoder asks | the clip is computed again: its digest is another |
    | everything together is larger than ``limit_mb`` | the clips that were used the longest ago leave memory |
    | several threads ask at once | they share what is kept |

    Args:
        num_mels: number of mel bands of the model's encoder.
        window_s: the model's window in seconds.
        limit_mb: most memory for what is kept, in 10^6 bytes.
        shelf: keeps it beyond that and beyond this process; None: nothing is written to disk.
    """

    def __init__(self, num_mels: int, window_s: float, *, limit_mb: float = 512, shelf: Shelf | None = None) -> None:
        self.log_mel = LogMel(num_mels, window_s)
        self._memory = ClipMemory(limit_mb, shelf=shelf)

    @property
    def limit_bytes(self) -> int:
        """Most memory for what is kept."""
        return self._memory.recent.limit_bytes

    @property
    def bytes_kept(self) -> int:
        """Memory that is taken now."""
        return self._memory.recent.bytes_kept

    def features(self, utterances: Sequence[Utterance], *, encoder: Encoder | None = None) -> torch.Tensor:
        """Model input for clips that fit into the window.

        Returns:
            float32 [batch, num_mels, frames], or what ``encoder`` makes of it.

        Raises:
            DataError: there is no utterance, or a recording is unusable or longer than the window; `windows` takes
                those.
        """
        if not utterances:
            raise DataError("a batch needs at least one utterance; this one has none.")
        digest = _digest(encoder)
        pieces = [self._pieces(utterance, encoder, digest) for utterance in utterances]
        for utterance, piece in zip(utterances, pieces, strict=True):
            if len(piece) > 1:
                raise DataError(
                    f"{utterance.audio} is longer than the window of {self.log_mel.window_s} s; split it, raise "
                    "model.window_s, or leave it out of training."
                )
        return _exact(torch.cat(pieces), encoder)

    def windows(self, utterance: Utterance, *, encoder: Encoder | None = None) -> torch.Tensor:
        """Model input for a clip of any length, cut at pauses into pieces that fit into the window.

        Returns:
            float32 [windows, num_mels, frames], in order, or what ``encoder`` makes of it.

        Raises:
            DataError: the recording is unusable.
        """
        return _exact(self._pieces(utterance, encoder, _digest(encoder)), encoder)

    def _pieces(self, utterance: Utterance, encoder: Encoder | None, digest: str) -> torch.Tensor:
        """The windows as they are kept."""

        def compute() -> tuple[torch.Tensor]:
            windows = self._log_mels(utterance)
            if encoder is not None:  # one by one: in a batch of another size the last bits would be others
                windows = torch.cat([encoder(window[None].float()) for window in windows])
            return (windows,)

        made_by = f"windows: {self.log_mel.num_mels} mels, {self.log_mel.window_s} s, {digest}"
        return self._memory.of(utterance, compute, made_by=made_by)[0]

    def _log_mels(self, utterance: Utterance) -> torch.Tensor:
        """float16 [windows, num_mels, frames]."""
        audio = read_audio(utterance.audio, offset_s=utterance.offset_s, duration_s=utterance.duration_s)
        parts = split_at_pauses(audio, self.log_mel.frames * SAMPLE_RATE_HZ // 100)
        features: npt.NDArray[np.float32] = np.stack([self.log_mel(part) for part in parts])
        return torch.from_numpy(features.astype(np.float16))


def _exact(kept: torch.Tensor, encoder: Encoder | None) -> torch.Tensor:
    return kept.float() if encoder is None else kept


def _digest(encoder: Encoder | None) -> str:
    return "" if encoder is None else encoder.digest
