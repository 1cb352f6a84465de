"""Cuts long recordings into windows where nobody is speaking."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from sordino.data.audio import SAMPLE_RATE_HZ

__all__ = ["split_at_pauses"]

_ENERGY_FRAME: Final = SAMPLE_RATE_HZ // 20
_SEARCH: Final = 0.25


def split_at_pauses(audio: npt.NDArray[np.float32], window: int) -> list[npt.NDArray[np.float32]]:
    """Cuts audio into pieces of at most ``window`` samples, each cut at the quietest point of a window's last quarter.

    Args:
        audio: float32 [samples], 16 kHz.
        window: most samples a piece.

    Returns:
        The pieces; joined they are ``audio`` again.
    """
    pieces = []
    while len(audio) > window:
        cut = _quietest(audio, int(window * (1 - _SEARCH)), window)
        pieces.append(audio[:cut])
        audio = audio[cut:]
    return [*pieces, audio]


def _quietest(audio: npt.NDArray[np.float32], low: int, high: int) -> int:
    """The middle of the 50 ms with the least energy that lie within ``low:high``."""
    energy = np.cumsum(np.concatenate([[0.0], np.square(audio[low:high], dtype=np.float64)]))
    width = min(_ENERGY_FRAME, high - low)
    return low + int(np.argmin(energy[width:] - energy[:-width])) + width // 2
