"""Synthetic voices: language x timbre x pitch x rate x noise, in any number.

There are two populations with disjoint timbres. *Pretraining* voices are the clean standard variants; *federated*
voices are all other variants with white noise, and whole families of their timbres are held out for testing. What a
voice says depends only on the voice, the text and the seeds given, never on what was said before.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import soxr

from sordino.data import espeak
from sordino.data.audio import SAMPLE_RATE_HZ
from sordino.errors import DataError
from sordino.seeds import Seeds

__all__ = [
    "LANGUAGES",
    "PRETRAINING_TIMBRES",
    "Voice",
    "federated_timbres",
    "federated_voices",
    "held_out_timbres",
    "held_out_voices",
    "pretraining_voices",
    "synthesise",
    "with_noise",
]

LANGUAGES: Final = ("en", "de", "fr", "es")
"""What voices speak unless told otherwise."""

PRETRAINING_TIMBRES: Final = ("m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "f1", "f2", "f3", "f4", "f5")
"""The standard espeak-ng variants; no federated voice has one of them."""

_HELD_OUT_RATE: Final = 0.2
_NOISE_STD: Final = (0.0016, 0.016)
_PITCH: Final = (25, 75)
_RATE: Final = (150, 220)
_FASTEST: Final = 450
_MARGIN_S: Final = 0.04
_SILENCE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Voice:
    """How one synthetic person speaks.

    Attributes:
        language: espeak-ng's language code.
        timbre: espeak-ng's variant, e.g. ``"m3"``.
        pitch: 0 to 99.
        rate: words a minute, 80 to 450.
        noise_std: standard deviation of the white noise; full scale is 1.
    """

    language: str
    timbre: str
    pitch: int
    rate: int
    noise_std: float = 0.0


def synthesise(voice: Voice, text: str, *, seeds: Seeds, window_s: float = 2.0) -> npt.NDArray[np.float32]:
    """Speaks ``text``, without leading and trailing silence, faster where it would not fit into ``window_s``.

    The samples depend on the arguments only. The noise is drawn at ``seeds.at("noise")``.

    Returns:
        float32 [samples] at 16 kHz, fewer than ``window_s`` seconds.

    Raises:
        ConfigError: espeak-ng is not installed, or has no such language or timbre.
        DataError: ``text`` gives no sound, or does not fit at the fastest rate.
    """
    limit = int((window_s - _MARGIN_S) * SAMPLE_RATE_HZ)
    rate = voice.rate
    audio = _render(voice, text, rate)
    while len(audio) > limit:
        if rate >= _FASTEST:
            raise DataError(f"text {text!r} takes longer than {window_s} s to say; choose a shorter one.")
        rate = min(_FASTEST, math.ceil(rate * max(1.05, len(audio) / limit)))
        audio = _render(voice, text, rate)
    return with_noise(audio, voice.noise_std, seeds=seeds)


def with_noise(audio: npt.NDArray[np.float32], noise_std: float, *, seeds: Seeds) -> npt.NDArray[np.float32]:
    """The audio with white noise, drawn at ``seeds.at("noise")``, within [-1, 1]."""
    if noise_std > 0:
        noise = seeds.at("noise").generator().standard_normal(len(audio), dtype=np.float32)
        audio = audio + np.float32(noise_std) * noise
    return np.clip(audio, -1, 1)


def _render(voice: Voice, text: str, rate: int) -> npt.NDArray[np.float32]:
    raw = espeak.speak(text, language=voice.language, timbre=voice.timbre, pitch=voice.pitch, rate=rate)
    loud = np.flatnonzero(np.abs(raw) > _SILENCE * np.abs(raw).max(initial=0))
    if not len(loud):
        raise DataError(f"text {text!r} gives no sound in language {voice.language!r}; choose words of that language.")
    trimmed = raw[loud[0] : loud[-1] + 1]
    return np.asarray(soxr.resample(trimmed, espeak.RATE_HZ, SAMPLE_RATE_HZ), np.float32)


def federated_timbres() -> tuple[str, ...]:
    """Timbres of voices that take part in federated training."""
    return tuple(t for t in espeak.timbres() if t not in PRETRAINING_TIMBRES and not _is_held_out(t))


def held_out_timbres() -> tuple[str, ...]:
    """Timbres that no training voice has, about a quarter; numbered relatives (klatt, klatt2, ...) stay together."""
    return tuple(t for t in espeak.timbres() if t not in PRETRAINING_TIMBRES and _is_held_out(t))


def _is_held_out(timbre: str) -> bool:
    """By a hash of the family's name, so that the split is the same for every seed and every espeak-ng release."""
    family = timbre.rstrip("0123456789").lower()
    return int.from_bytes(hashlib.sha256(family.encode()).digest()[:4], "big") < _HELD_OUT_RATE * 2**32


def pretraining_voices(n: int, seeds: Seeds, *, languages: Sequence[str] = LANGUAGES) -> list[Voice]:
    """``n`` clean voices of the standard variants."""
    return _draw(n, seeds.at("pretraining"), languages, PRETRAINING_TIMBRES, noisy=False)


def federated_voices(n: int, seeds: Seeds, *, languages: Sequence[str] = LANGUAGES) -> list[Voice]:
    """``n`` noisy voices for federated training; noise is log-uniform between .0016 and .016."""
    return _draw(n, seeds.at("federated"), languages, federated_timbres(), noisy=True)


def held_out_voices(n: int, seeds: Seeds, *, languages: Sequence[str] = LANGUAGES) -> list[Voice]:
    """``n`` noisy voices whose timbres no other population has, for testing."""
    return _draw(n, seeds.at("held-out"), languages, held_out_timbres(), noisy=True)


def _draw(n: int, seeds: Seeds, languages: Sequence[str], timbres: Sequence[str], *, noisy: bool) -> list[Voice]:
    """Each voice at its own place in ``seeds``, so that more voices never change the first ones."""
    voices = []
    for index in range(n):
        rng = seeds.at("voice", index).generator()
        voices.append(
            Voice(
                language=languages[int(rng.integers(len(languages)))],
                timbre=timbres[int(rng.integers(len(timbres)))],
                pitch=int(rng.integers(_PITCH[0], _PITCH[1] + 1)),
                rate=int(rng.integers(_RATE[0], _RATE[1] + 1)),
                noise_std=float(np.exp(rng.uniform(*np.log(_NOISE_STD)))) if noisy else 0.0,
            )
        )
    return voices
