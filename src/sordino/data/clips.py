"""Utterances in, the frames of a frozen front out, as many as the utterance is long."""

from __future__ import annotations

import math
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import torch

from sordino._check import positive
from sordino.data.audio import SAMPLE_RATE_HZ, read_audio
from sordino.data.clip_memory import ClipMemory
from sordino.data.features import FRAMES_PER_S, LogMel
from sordino.data.pauses import split_at_pauses
from sordino.data.shelf import Shelf
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["ClipStore", "Listener"]

_STEP: Final = 2 * SAMPLE_RATE_HZ // FRAMES_PER_S
"""Samples a frame: two steps of the log-mels."""

_SILENCE: Final = 4
"""Steps of silence behind the longest piece, which the transform of its end reaches into."""


class Listener(Protocol):
    """What hears one clip at a time, always the same for the same clip."""

    def __call__(self, clip: torch.Tensor) -> torch.Tensor:
        """Frames of float32 [num_mels, 100 a second], or of float32 [samples]: [frames, width]."""
        ...


class ClipStore:
    """Frames of utterances of any length, computed once for each while it stays among the recently used.

    Unlike `FeatureStore`, which fills a window, it gives a clip as many frames as it has audio: slow speakers are not cut
    off, and quick ones are not padded.

    | what happens | then |
    |---|---|
    | the recording is replaced (another size or time of change) | the clip is computed again |
    | everything together is larger than ``limit_mb`` | the clips that were used the longest ago leave memory |
    | the listener changes | make another store |

    Args:
        listener: computes the frames.
        num_mels: mel bands of the log-mels that it takes; None if it takes samples.
        window_s: longest piece in seconds.
        limit_mb: most memory for what is kept, in 10^6 bytes.
        shelf: keeps it beyond that and beyond this process; None: nothing is written to disk.
        digest: fingerprint of the listener, by which a shelf tells its frames from those of others; not used without one.
    """

    def __init__(
        self,
        listener: Listener,
        *,
        num_mels: int | None,
        window_s: float,
        limit_mb: float = 512,
        shelf: Shelf | None = None,
        digest: str = "",
    ) -> None:
        self.window_s = positive("window_s", window_s)
        self._memory = ClipMemory(limit_mb, shelf=shelf if digest else None)
        self._made_by = f"pieces: {num_mels} mels, {window_s} s, {digest}"
        self._listener = listener
        self._log_mel = None if num_mels is None else LogMel(num_mels, (_frames(window_s) + _SILENCE) / FRAMES_PER_S)

    def clip(self, utterance: Utterance) -> torch.Tensor:
        """Frames of a clip that fits into the window: float32 [frames, width].

        Raises:
            DataError: the recording is unusable or longer than the window; `pieces` takes those.
        """
        pieces = self.pieces(utterance)
        if len(pieces) > 1:
            raise DataError(
                f"{utterance.audio} is longer than the window of {self.window_s} s; split it, raise model.window_s, or "
                "leave it out of training."
            )
        return pieces[0]

    def pieces(self, utterance: Utterance) -> tuple[torch.Tensor, ...]:
        """Frames of a clip of any length, cut at pauses into pieces that fit into the window.

        Raises:
            DataError: the recording is unusable.
        """

        def compute() -> tuple[torch.Tensor, ...]:
            audio = read_audio(utterance.audio, offset_s=utterance.offset_s, duration_s=utterance.duration_s)
            parts = split_at_pauses(audio, int(self.window_s * SAMPLE_RATE_HZ))
            return tuple(self._listener(torch.from_numpy(self._prepared(part))).contiguous() for part in parts)

        return self._memory.of(utterance, compute, made_by=self._made_by)

    def _prepared(self, audio: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Samples, or the log-mels as in a longer window, where silence follows: float32 [num_mels, frames]."""
        if self._log_mel is None:
            return audio
        return self._log_mel(audio)[:, : _frames(len(audio) / SAMPLE_RATE_HZ)]


def _frames(seconds: float) -> int:
    """Steps of the log-mels for some audio: an even number, since two make a frame."""
    return 2 * math.ceil(round(seconds * SAMPLE_RATE_HZ) / _STEP)
