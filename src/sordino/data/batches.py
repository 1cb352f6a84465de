"""Utterances in, model input out, with the features of recent clips kept in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt
import torch

from sordino._check import at_least
from sordino.data.audio import SAMPLE_RATE_HZ, read_audio
from sordino.data.features import LogMel
from sordino.data.pauses import split_at_pauses
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["FeatureStore"]


class FeatureStore:
    """Log-mel features of utterances, each computed once while it stays among the recently used.

    Features are rounded to float16 whether they come from memory or not, so a result never depends on what was asked
    before; and each clip is transformed alone, so it never depends on its batch. Several threads may share a store.

    Args:
        num_mels: number of mel bands of the model's encoder.
        window_s: the model's window in seconds.
        limit_mb: most memory for kept features, in 10^6 bytes.
    """

    def __init__(self, num_mels: int, window_s: float, *, limit_mb: float = 512) -> None:
        self.log_mel = LogMel(num_mels, window_s)
        self.limit_bytes = int(at_least("limit_mb", limit_mb, 0) * 1e6)
        self.bytes_kept = 0
        self._lock = Lock()
        self._kept: OrderedDict[str, npt.NDArray[np.float16]] = OrderedDict()

    def features(self, utterances: Sequence[Utterance]) -> torch.Tensor:
        """Model input for clips that fit into the window.

        Returns:
            float32 [batch, num_mels, frames].

        Raises:
            DataError: there is no utterance, or a recording is unusable or longer than the window; `windows` takes
                those.
        """
        if not utterances:
            raise DataError("a batch needs at least one utterance; this one has none.")
        pieces = [self._pieces(utterance) for utterance in utterances]
        for utterance, piece in zip(utterances, pieces, strict=True):
            if len(piece) > 1:
                raise DataError(
                    f"{utterance.audio} is longer than the window of {self.log_mel.window_s} s; split it, raise "
                    "model.window_s, or leave it out of training."
                )
        return torch.from_numpy(np.concatenate(pieces).astype(np.float32))

    def windows(self, utterance: Utterance) -> torch.Tensor:
        """Model input for a clip of any length, cut at pauses into pieces that fit into the window.

        Returns:
            float32 [windows, num_mels, frames], in order.

        Raises:
            DataError: the recording is unusable.
        """
        return torch.from_numpy(self._pieces(utterance).astype(np.float32))

    def _pieces(self, utterance: Utterance) -> npt.NDArray[np.float16]:
        """float16 [windows, num_mels, frames], from memory where possible."""
        with self._lock:
            kept = self._kept.get(utterance.key)
            if kept is not None:
                self._kept.move_to_end(utterance.key)
                return kept
        audio = read_audio(utterance.audio, offset_s=utterance.offset_s, duration_s=utterance.duration_s)
        parts = split_at_pauses(audio, self.log_mel.frames * SAMPLE_RATE_HZ // 100)
        features = np.stack([self.log_mel(part) for part in parts]).astype(np.float16)
        with self._lock:
            if utterance.key not in self._kept:  # another thread may have been as quick
                self._kept[utterance.key] = features
                self.bytes_kept += features.nbytes
            while self.bytes_kept > self.limit_bytes:
                self.bytes_kept -= self._kept.popitem(last=False)[1].nbytes
        return features
