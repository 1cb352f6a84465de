"""What a recording turns out to be when all of it is read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np

from sordino.data.audio import read_samples
from sordino.data.utterance import Utterance

__all__ = ["Heard", "listen"]

_SILENT_PEAK: Final = 1e-4
_FULL_SCALE: Final = 0.999
_CLIPPED_SHARE: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Facts about a recording, or about the piece of it that an utterance is.

    Attributes:
        duration_s: real length of the piece.
        rate_hz: rate it was recorded at.
        silent: its peak is under -80 dB.
        clipped: more than one sample in a thousand is at full scale.
        digest: the same for the same samples, whatever file or format they are in.
    """

    duration_s: float
    rate_hz: int
    silent: bool
    clipped: bool
    digest: bytes


def listen(utterance: Utterance) -> Heard:
    """Reads an utterance's samples.

    Raises:
        DataError: as `read_audio`.
    """
    samples, rate = read_samples(utterance.audio, offset_s=utterance.offset_s, duration_s=utterance.duration_s)
    level = np.abs(samples)
    return Heard(
        duration_s=len(samples) / rate,
        rate_hz=rate,
        silent=bool(level.max() < _SILENT_PEAK),
        clipped=bool((level >= _FULL_SCALE).mean() > _CLIPPED_SHARE),
        digest=hashlib.blake2b(samples.tobytes(), digest_size=16).digest(),
    )
