"""Randomness that carries a guarantee: Gaussian noise and cohort draws from a cryptographic generator.

The generator is ChaCha20 in counter mode. Its key comes from the operating system and is forgotten after use, unless
the run is a seeded simulation: then it comes from the seed, anybody who knows the seed can subtract the noise, and
every report says so. Samples are float64 Box-Muller normals, and a release is rounded to float32 only after they were
added: float32 samples would lie on a coarser grid than small results, whose last bits would then show the sum. Like all
floating-point implementations of the Gaussian mechanism they approximate the real-valued noise that accounting assumes.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from sordino.seeds import Seeds

__all__ = ["NoiseSource", "Stream"]

_CHUNK = 1 << 19  # pairs of normals whose radii are drawn before their angles: decides a seeded stream
_PIECE = 1 << 13  # numbers computed at once: they stay in the processor's cache


class Stream:
    """An endless sequence of cryptographically strong random numbers under one key."""

    def __init__(self, key: bytes) -> None:
        self._encryptor = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()

    def uniform(self, size: int) -> npt.NDArray[np.float64]:
        """``size`` independent numbers in [0, 1), multiples of 2**-53."""
        result = np.empty(size, np.float64)
        for part in _pieces(result):
            words = np.frombuffer(self._encryptor.update(bytes(8 * len(part))), np.uint64)
            np.multiply(words >> np.uint64(11), 2.0**-53, out=part)
        return result

    def normal(self, size: int) -> npt.NDArray[np.float64]:
        """``size`` independent standard normal numbers.

        Box-Muller: ``sqrt(-2 ln u) cos(2 pi v)`` and the same with sin, for u in (0, 1] and v in [0, 1).

        Shape:
            result: float64 [size]
        """
        result = np.empty(size + size % 2, np.float64)
        for start in range(0, len(result), 2 * _CHUNK):
            first, second = np.split(result[start : start + 2 * _CHUNK], 2)
            radii = self.uniform(len(first))
            for drawn, one, other in zip(_pieces(radii), _pieces(first), _pieces(second), strict=True):
                radius = np.sqrt(-2.0 * np.log(drawn + 2.0**-53))
                angle = (2.0 * np.pi) * self.uniform(len(radius))
                np.multiply(radius, np.cos(angle), out=one)
                np.multiply(radius, np.sin(angle), out=other)
        return result[:size]


def _pieces(array: npt.NDArray[np.float64]) -> Iterator[npt.NDArray[np.float64]]:
    for start in range(0, len(array), _PIECE):
        yield array[start : start + _PIECE]


@dataclass(frozen=True, slots=True)
class NoiseSource:
    """Where keys come from: the operating system, or a seed in a simulation.

    Args:
        seeds: None for real use. With seeds, the same place gives the same stream.
    """

    seeds: Seeds | None = None

    @property
    def seeded(self) -> bool:
        """Whether somebody who knows the seed can repeat the draws, which voids the guarantee."""
        return self.seeds is not None

    def stream(self, *place: str | int) -> Stream:
        """A fresh stream; ``place`` names its use and decides its key only when seeded."""
        return Stream(self.seeds.at(*place).key() if self.seeds is not None else secrets.token_bytes(32))
