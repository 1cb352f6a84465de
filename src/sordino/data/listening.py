"""What a recording turns out to be when all of it is read, or its header alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np

from sordino.data.audio import ROUNDING_S, audio_header, read_samples
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Heard", "glance", "listen"]

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


def glance(utterance: Utterance) -> Heard:
    """What the header of the recording says, at least ten times quicker than `listen`.

    Silence, overdrive and damage behind the header are not noticed, and the same sound is only known by its place.

    Raises:
        DataError: the file is missing, empty or not audio, or ends before the utterance begins.
    """
    whole_s, rate = audio_header(utterance.audio)
    rest_s = whole_s - utterance.offset_s
    if rest_s <= 0:
        raise DataError(
            f"{utterance.audio}: offset {utterance.offset_s} s lies behind its end at {whole_s:.3f} s; "
            "correct the offset."
        )
    return Heard(
        duration_s=utterance.duration_s if utterance.duration_s < rest_s - ROUNDING_S else rest_s,
        rate_hz=rate,
        silent=False,
        clipped=False,
        digest=hashlib.blake2b(utterance.key.encode("utf-8", "surrogateescape"), digest_size=16).digest(),
    )
