"""How a clip is said: pitch, periodicity and energy, fifty times a second.

Pitch after YIN. With the frame x, an integration window of W samples and a lag tau,

    d(tau)  = sum_{j < W} (x_j - x_{j+tau})^2
    d'(tau) = d(tau) / mean_{1 <= s <= tau} d(s)

the period is the first local minimum of d' under a threshold, or else its smallest value, refined by a parabola.
Periodicity is ``1 - d'`` there.

Source: de Cheveigné and Kawahara, "YIN, a fundamental frequency estimator for speech and music", JASA 2002, steps 1 to 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.ndimage import uniform_filter1d

from sordino.data.audio import SAMPLE_RATE_HZ

__all__ = ["PITCH_HZ", "PROSODY", "PROSODY_FRAMES_PER_S", "PitchTrack", "pitch_track", "prosody"]

PROSODY_FRAMES_PER_S: Final = 50
"""Frames a second, as many as Whisper's encoder gives."""

PITCH_HZ: Final = (60.0, 500.0)
"""Lowest and highest pitch that is looked for."""

PROSODY: Final = ("pitch", "voicing", "energy", "pitch slope", "energy slope")
"""What each column of `prosody` is."""

_HOP: Final = SAMPLE_RATE_HZ // PROSODY_FRAMES_PER_S
_WINDOW: Final = 512
_LAGS: Final = int(SAMPLE_RATE_HZ // PITCH_HZ[0]) + 2
_SHORTEST: Final = int(SAMPLE_RATE_HZ // PITCH_HZ[1])
_FFT: Final = 1024
_DIP: Final = 0.15
_VOICED: Final = 0.3
_FLOOR: Final = 1e-4
_SMOOTHING: Final = 5
_SLOPE: Final = PROSODY_FRAMES_PER_S / 5

Float = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PitchTrack:
    """Pitch of a clip, frame by frame; frame n is centred on sample 320 n.

    Attributes:
        hz: pitch, whether the frame is voiced or not: float32 [frames].
        aperiodicity: d' at the period, 0 for a perfectly periodic frame: float32 [frames].
        rms: root mean square of the frame's window: float32 [frames].
    """

    hz: Float
    aperiodicity: Float
    rms: Float

    @property
    def voiced(self) -> npt.NDArray[np.bool_]:
        """Frames periodic and loud enough to have a pitch."""
        return (self.aperiodicity < _VOICED) & (self.rms > _FLOOR)


def pitch_track(audio: Float) -> PitchTrack:
    """Pitch of each frame between `PITCH_HZ`.

    Args:
        audio: float32 [samples], 16 kHz.

    Shape:
        result: ``1 + samples // 320`` frames
    """
    span = _WINDOW + _LAGS
    padded = np.pad(audio.astype(np.float64), (span // 2, span))
    frames = np.lib.stride_tricks.sliding_window_view(padded, span)[::_HOP][: 1 + len(audio) // _HOP]
    kept = frames[:, :_WINDOW]
    correlation = np.fft.irfft(np.fft.rfft(kept, _FFT).conj() * np.fft.rfft(frames, _FFT), _FFT)[:, :_LAGS]
    squares = np.pad(np.cumsum(frames**2, axis=1), ((0, 0), (1, 0)))
    energy = squares[:, _WINDOW : _WINDOW + _LAGS] - squares[:, :_LAGS]  # of the window at each lag
    difference = np.maximum(energy[:, :1] + energy - 2 * correlation, 0)  # [frames, lags]
    mean = np.cumsum(difference[:, 1:], axis=1) / np.arange(1, _LAGS)
    normalised = np.ones_like(difference)
    np.divide(difference[:, 1:], mean, out=normalised[:, 1:], where=mean > 1e-12)
    period, depth = _dips(normalised)
    rms = np.sqrt(energy[:, 0] / _WINDOW)
    return PitchTrack(*(track.astype(np.float32) for track in (SAMPLE_RATE_HZ / period, depth, rms)))


def _dips(normalised: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Period in samples, between whole ones, and the value of d' there; [frames, lags] to two of [frames]."""
    before, here, after = (normalised[:, _SHORTEST + step : _LAGS - 1 + step] for step in (-1, 0, 1))
    dips = (here < _DIP) & (here <= before) & (here < after)
    chosen = np.where(dips.any(axis=1), dips.argmax(axis=1), here.argmin(axis=1))
    low, middle, high = (np.take_along_axis(part, chosen[:, None], axis=1)[:, 0] for part in (before, here, after))
    curvature = low - 2 * middle + high
    shift = np.divide(low - high, 2 * curvature, out=np.zeros_like(low), where=curvature > 1e-12)
    shift = np.clip(shift, -0.5, 0.5)
    return _SHORTEST + chosen + shift, middle


def prosody(audio: Float) -> Float:
    """Pitch and energy track of a clip, of order 1 throughout.

    | column | what it is |
    |---|---|
    | pitch | octaves above 100 Hz, drawn through unvoiced stretches; 0 where nothing is voiced |
    | voicing | 1 where voiced, 0 elsewhere |
    | energy | ``2 + log10 rms``, nothing under -80 dB |
    | pitch slope | change of the smoothed pitch, octaves in a fifth of a second |
    | energy slope | change of the smoothed energy in a fifth of a second |

    Args:
        audio: float32 [samples], 16 kHz.

    Returns:
        float32 [frames, 5], ``1 + samples // 320`` frames.
    """
    track = pitch_track(audio)
    voiced = np.flatnonzero(track.voiced)
    every = np.arange(len(track.hz))
    pitch = np.interp(every, voiced, np.log2(track.hz[voiced] / 100)) if len(voiced) else np.zeros(len(every))
    energy = 2 + np.log10(np.maximum(track.rms, _FLOOR))
    columns = (pitch, track.voiced, energy, _SLOPE * _slope(pitch), _SLOPE * _slope(energy))
    return np.stack([np.asarray(column, np.float32) for column in columns], axis=1)


def _slope(track: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Change from frame to frame of the smoothed track, [frames]."""
    return np.gradient(uniform_filter1d(track, _SMOOTHING)) if len(track) > 1 else np.zeros_like(track)
