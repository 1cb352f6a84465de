"""Log-mel features, the same as transformers' ``WhisperFeatureExtractor`` gives on a window of any length.

    power_tk = |STFT(x; Hann 400, hop 160)|^2,   mel = log10 max(power M, 1e-10)
    feature  = (max(mel, max(mel) - 8) + 4) / 4

The maximum runs over the one clip, so a clip's features depend on its own samples only.

Source: Radford et al. 2022, arXiv 2212.04356, section 2.2; mel scale of Slaney's Auditory Toolbox (1998).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from sordino._check import at_least, positive
from sordino.data.audio import SAMPLE_RATE_HZ
from sordino.errors import ConfigError, DataError

__all__ = ["FRAMES_PER_S", "LogMel", "mel_filters"]

FRAMES_PER_S: Final = 100
"""Feature frames a second."""

_FFT: Final = 400
_HOP: Final = SAMPLE_RATE_HZ // FRAMES_PER_S
_FLOOR: Final = 1e-10
_HANN: Final = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_FFT) / _FFT)).astype(np.float32)


def mel_filters(num_mels: int) -> npt.NDArray[np.float32]:
    """Triangular filters of unit area, 0 to 8 kHz, centres evenly spaced on Slaney's mel scale.

    The scale is linear below 1 kHz (15 mels), logarithmic above (27 mels for each factor of 6.4).

    Shape: float32 [201 frequencies, num_mels].
    """
    top = 15 + 27 * np.log(8000 / 1000) / np.log(6.4)
    mels = np.linspace(0, top, num_mels + 2)
    edges = np.where(mels < 15, mels * 200 / 3, 1000 * np.exp(np.log(6.4) / 27 * (mels - 15)))
    frequencies = np.linspace(0, SAMPLE_RATE_HZ / 2, _FFT // 2 + 1)[:, None]
    rising = (frequencies - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - frequencies) / (edges[2:] - edges[1:-1])
    filters = np.maximum(0, np.minimum(rising, falling)) * 2 / (edges[2:] - edges[:-2])
    return np.asarray(filters, np.float32)


class LogMel:
    """Turns one clip into the features of a window that starts with it and is silent after it.

    Args:
        num_mels: number of mel bands, 80 or 128 in published Whisper models.
        window_s: length of the window in seconds, a multiple of 0.01.

    Raises:
        ConfigError: ``num_mels`` below 1, or ``window_s`` not a positive multiple of 0.01.
    """

    def __init__(self, num_mels: int, window_s: float) -> None:
        self.num_mels = int(at_least("num_mels", num_mels, 1))
        self.window_s = positive("window_s", window_s)
        self.frames = round(window_s * FRAMES_PER_S)
        if self.frames < 1 or abs(self.frames - window_s * FRAMES_PER_S) > 1e-6:
            raise ConfigError(f"window_s = {window_s!r}: expected a multiple of 0.01 s; set model.window_s to one.")
        from scipy.sparse import csr_matrix

        self._filters = csr_matrix(mel_filters(num_mels).T)  # each band hears a few of the 201 frequencies

    def __call__(self, audio: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Features of one clip.

        Args:
            audio: float32 [samples], 16 kHz, at most the window.

        Returns:
            float32 [num_mels, frames] with ``frames = 100 window_s``.

        Raises:
            DataError: the clip is empty or longer than the window.
        """
        samples = self.frames * _HOP
        if not 0 < len(audio) <= samples:
            raise DataError(
                f"a clip of {len(audio) / SAMPLE_RATE_HZ:.3f} s does not fit into the window of {self.window_s} s; "
                "split it, raise model.window_s, or leave it out."
            )
        # Frames that lie wholly behind the clip are silence and need no transform.
        padded = np.pad(audio, (0, min(samples, len(audio) + _FFT) - len(audio)))
        padded = np.pad(padded, _FFT // 2, mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(padded, _FFT)[::_HOP][: self.frames]
        spectrum = np.fft.rfft(frames * _HANN, axis=1)
        power = spectrum.real**2 + spectrum.imag**2
        mel = np.full((self.num_mels, self.frames), np.log10(_FLOOR), np.float32)
        mel[:, : len(frames)] = np.log10(np.maximum(self._filters @ power.T, _FLOOR))
        features: npt.NDArray[np.float32] = (np.maximum(mel, mel.max() - 8) + 4) / 4
        return features
