"""Speech that is hard to understand, made of a synthetic voice: slow, halting, unsteady and blurred.

It imitates what dysarthric speech sounds like from outside. It is no model of a person or a disease, and error rates on
it say nothing about either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from sordino.data.audio import SAMPLE_RATE_HZ
from sordino.data.synthetic import Voice, synthesise, with_noise
from sordino.seeds import Seeds

__all__ = ["Impairment", "speak_atypically"]

_LONGEST_WORD_S: Final = 30.0
_HIGHEST_PITCH: Final = 99
_WOBBLES_HZ: Final = 6.0
_FRAME: Final = 512
_FLOOR: Final = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Impairment:
    """How a voice departs from its usual way of speaking; all zero leaves only words said one by one.

    Attributes:
        pause_s: mean pause between words, drawn from an exponential distribution.
        pitch_spread: standard deviation of a word's pitch about the voice's, in espeak-ng's units of 0 to 99.
        tremor: standard deviation of the fast changes of pitch inside a word, as a fraction of the pitch.
        blur: how far each moment's spectrum is drawn to the word's mean spectrum, 0 (not at all) to 1 (one sound).
    """

    pause_s: float = 0.0
    pitch_spread: float = 0.0
    tremor: float = 0.0
    blur: float = 0.0


def speak_atypically(voice: Voice, impairment: Impairment, text: str, *, seeds: Seeds) -> npt.NDArray[np.float32]:
    """Speaks ``text`` word by word, at the voice's own rate however long that takes.

    The samples depend on the arguments only.

    Returns:
        float32 [samples] at 16 kHz.

    Raises:
        ConfigError: espeak-ng is not installed, or has no such language or timbre.
        DataError: a word gives no sound.
    """
    rng = seeds.at("impairment").generator()
    pieces: list[npt.NDArray[np.float32]] = []
    for word in text.split():
        pitch = round(np.clip(voice.pitch + impairment.pitch_spread * rng.standard_normal(), 0, _HIGHEST_PITCH))
        steady = replace(voice, pitch=pitch, noise_std=0.0)
        audio = synthesise(steady, word, seeds=seeds, window_s=_LONGEST_WORD_S)
        pause = np.zeros(int(rng.exponential(impairment.pause_s) * SAMPLE_RATE_HZ), np.float32)
        pieces += [_blurred(_trembling(audio, impairment.tremor, rng), impairment.blur), pause]
    return with_noise(np.concatenate(pieces[:-1]), voice.noise_std, seeds=seeds)


def _trembling(audio: npt.NDArray[np.float32], tremor: float, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Plays the word faster and slower, by random factors that change a few times a second."""
    if tremor == 0:
        return audio
    knots = np.arange(0, len(audio) + SAMPLE_RATE_HZ / _WOBBLES_HZ, SAMPLE_RATE_HZ / _WOBBLES_HZ)
    speeds = np.interp(np.arange(len(audio)), knots, np.exp(tremor * rng.standard_normal(len(knots))))
    places = np.cumsum(speeds)
    places *= (len(audio) - 1) / places[-1]  # the same length: rate and tremor are separate matters
    return np.interp(places, np.arange(len(audio)), audio).astype(np.float32)


def _blurred(audio: npt.NDArray[np.float32], blur: float) -> npt.NDArray[np.float32]:
    """Draws the shape of each frame's spectrum to the mean shape, geometrically; its energy and phases stay."""
    if blur == 0:
        return audio
    from scipy.signal import istft, stft  # takes a second, which no other corpus needs

    _, _, spectra = stft(audio, nperseg=_FRAME)  # [frequencies, frames]
    sizes = np.abs(spectra) + _FLOOR
    energy = np.sqrt(np.mean(sizes**2, axis=0))
    shapes = np.log(sizes / energy)
    mean = np.average(shapes, axis=1, weights=energy, keepdims=True)
    drawn = np.exp((1 - blur) * shapes + blur * mean)
    drawn *= energy / np.sqrt(np.mean(drawn**2, axis=0))
    _, samples = istft(drawn * np.exp(1j * np.angle(spectra)), nperseg=_FRAME)
    return np.asarray(np.clip(samples[: len(audio)], -1, 1), np.float32)
