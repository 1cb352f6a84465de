"""Canaries: made-up clients whose contribution the auditor knows beforehand, and looks for in what was released.

Each has a random sign for every parameter. What it sends is that sign times an amplitude that all canaries of its kind
share, so directions are independent, nearly orthogonal, and never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.seeds import Seeds

__all__ = ["Canaries", "Filter", "Sighting", "matched_filter"]


@dataclass(frozen=True, slots=True)
class Canaries:
    """A number of canaries, dealt to the kinds in turn.

    Args:
        num: m.
        kinds: what is called apart, e.g. canaries on all parameters and those inside one component.
        size: number of parameters.
        seeds: their directions.
    """

    num: int
    kinds: tuple[str, ...]
    size: int
    seeds: Seeds

    @property
    def kind(self) -> npt.NDArray[np.intp]:
        """Index of each canary's kind.

        Shape:
            result: int [num]
        """
        return np.arange(self.num) % len(self.kinds)

    def signs(self, index: int) -> npt.NDArray[np.float32]:
        """One canary's direction.

        Shape:
            result: float32 [size], -1 or 1
        """
        drawn = self.seeds.at(index).generator().bytes(-(-self.size // 8))
        bits = np.unpackbits(np.frombuffer(drawn, np.uint8), count=self.size)
        return bits.astype(np.float32) * 2 - 1

    def look(self, rounds: Sequence[Sequence[npt.NDArray[np.float32]]]) -> npt.NDArray[np.float64]:
        """Inner products of each direction with what the filter of its kind left of each round.

        Shape:
            rounds: [rounds][kinds] of float32 [size]
            result: float64 [num, rounds]
        """
        by_kind = [np.stack([filtered[kind] for filtered in rounds], axis=1) for kind in range(len(self.kinds))]
        seen = [self.signs(index) @ by_kind[kind] for index, kind in enumerate(self.kind)]
        return np.stack(seen).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Filter:
    """How one kind of canary is looked for in one round.

    Attributes:
        weights: float32 [size]; with them the inner product of a canary that took part is 1 on average, otherwise 0.
        noise: standard deviation that the round's noise gives it; infinite where the kind cannot be seen at all.
    """

    weights: npt.NDArray[np.float32]
    noise: float

    def interference(self, amplitudes: npt.NDArray[np.float32]) -> float:
        """Standard deviation that one other canary with these amplitudes adds."""
        return float(np.linalg.norm(self.weights.astype(np.float64) * amplitudes))


def matched_filter(amplitudes: npt.NDArray[np.float32], stds: npt.NDArray[np.float64]) -> Filter:
    """The linear filter with the best signal to noise ratio: ``w = (a / s^2) / sum (a^2 / s^2)``.

    Args:
        amplitudes: a, what a canary sends apart from its signs.
        stds: s, of the noise on each parameter; where it is 0 throughout, all parameters count alike.

    Shape:
        amplitudes: float32 [size]
        stds: float64 [size]
    """
    signal = amplitudes.astype(np.float64)
    precise = not (stds[signal > 0] > 0).all()
    precision = np.where(signal > 0, 1.0, 0.0) if precise else np.divide(1, stds**2, where=signal > 0, out=0 * signal)
    strength = float((signal**2 * precision).sum())
    if not strength:
        return Filter(np.zeros_like(amplitudes), np.inf)
    return Filter((signal * precision / strength).astype(np.float32), 0.0 if precise else strength**-0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What an auditor sees of all canaries, and what is to be expected.

    Attributes:
        observed: filtered inner products, float64 [num, rounds].
        noise: standard deviation of the claimed noise in them, likewise.
        interference: standard deviation that other canaries add, likewise.
        kind: index of each canary's kind, int [num].
        kinds: the kinds' names.
        rate: probability that a canary takes part in a round, if it is in at all.
    """

    observed: npt.NDArray[np.float64]
    noise: npt.NDArray[np.float64]
    interference: npt.NDArray[np.float64]
    kind: npt.NDArray[np.intp]
    kinds: tuple[str, ...]
    rate: float
