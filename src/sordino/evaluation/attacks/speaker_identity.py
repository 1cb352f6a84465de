"""Whose update is this? An attacker with recordings of the candidates compares what they would have sent.

Updates of one person differ by what was said. What differs little within people and much between them is learnt from other
people, by linear discriminant analysis on the updates' principal components; then the cosine decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sordino.errors import DataError
from sordino.evaluation.attacks.one_run import Success
from sordino.seeds import Seeds

__all__ = ["Identity", "VoiceSpace", "equal_error_rate", "identify", "learn_voices"]

_COMPONENTS: Final = 100
_NEGLIGIBLE: Final = 1e-6

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """How well updates tell people apart.

    Attributes:
        named: how often the right one of all candidates was named.
        equal_error_rate: of saying whether an update is a certain person's: where false alarms are as frequent as misses;
            0.5 is chance.
        candidates: number of people.
    """

    named: Success
    equal_error_rate: float
    candidates: int

    def to_json(self) -> dict[str, Any]:
        """``success``, ``chance`` and ``ci95`` of naming, with the equal error rate."""
        return {**self.named.to_json(), "equal_error_rate": self.equal_error_rate, "candidates": self.candidates}


@dataclass(frozen=True)
class VoiceSpace:
    """Where updates of one person lie close together.

    Attributes:
        mean: of the updates that it was learnt from, [size].
        scale: what each coordinate is divided by, [size].
        axes: [size, components].
        discriminants: [components, axes of the space].
    """

    mean: Matrix
    scale: Matrix
    axes: Matrix
    discriminants: npt.NDArray[np.float64]

    def __call__(self, updates: Matrix) -> npt.NDArray[np.float64]:
        """Unit vectors, float64 [updates, axes of the space]."""
        placed = (((updates - self.mean) / self.scale) @ self.axes) @ self.discriminants
        return np.asarray(placed / np.maximum(np.linalg.norm(placed, axis=1, keepdims=True), 1e-12))


def learn_voices(
    updates: Matrix, speakers: npt.NDArray[np.intp], *, noise_stds: Matrix | float = 0.0, seeds: Seeds
) -> VoiceSpace:
    """Learns from updates of other people, as they will be seen: the noise to be expected is put on them.

    Args:
        updates: of people who are no candidates, several of each, without noise.
        speakers: whose each is.
        noise_stds: of the noise on what will be compared, one for all or one a coordinate.
        seeds: of the noise that the attacker puts on.

    Shape:
        updates: float32 [shadows, size]
        speakers: int [shadows]

    Raises:
        DataError: fewer than two people, or no more updates than people.
    """
    people = len(np.unique(speakers))
    if people < 2 or len(updates) <= people or len(speakers) != len(updates):
        raise DataError(
            f"{len(updates)} updates of {people} people, for {len(speakers)} names: expected several of each of at least "
            "two people; make more."
        )
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    stds = np.broadcast_to(np.asarray(noise_stds, np.float32), updates.shape[1:])
    level = np.float32(np.sqrt(np.mean(np.square(stds, dtype=np.float64))))
    scale: Matrix = np.where(stds > 0, stds / (level or np.float32(1)), np.float32(1)).astype(np.float32)
    generator = seeds.generator()
    components = min(_COMPONENTS, len(updates) - people, updates.shape[1])
    mean: Matrix = updates.mean(axis=0)
    centred = (updates - mean) / scale
    axes = _principal_axes(centred, components)
    placed = centred @ axes
    placed = placed + level * generator.standard_normal(placed.shape, np.float32)  # axes are orthonormal
    judge = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(placed, speakers)
    return VoiceSpace(mean, scale, axes, judge.scalings_[:, : people - 1])


def _principal_axes(centred: Matrix, components: int) -> Matrix:
    """float32 [size, components], from the inner products: there are far fewer updates than coordinates."""
    values, vectors = np.linalg.eigh((centred @ centred.T).astype(np.float64))
    kept = np.flatnonzero(values > values[-1] * _NEGLIGIBLE)[-components:]
    return np.asarray(centred.T @ (vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32))


def identify(space: VoiceSpace, *, enrolled: Matrix, seen: Matrix) -> Identity:
    """Asks of an update by each candidate whose it is.

    Args:
        space: learnt from others.
        enrolled: what the attacker knows of each candidate: the mean update of some of their recordings.
        seen: an update by each, or the mean of those seen in several rounds.

    Shape:
        enrolled, seen: float32 [candidates, size], in the same order

    Raises:
        DataError: fewer than two candidates.
    """
    candidates = len(enrolled)
    if candidates < 2 or len(seen) != candidates:
        raise DataError(
            f"{candidates} candidates and {len(seen)} updates: expected one by each of at least two people."
        )
    scores = space(seen) @ space(enrolled).T
    right = int((scores.argmax(axis=1) == np.arange(candidates)).sum())
    own = np.eye(candidates, dtype=bool)
    return Identity(
        named=Success(right=right, tried=candidates, chance=1 / candidates),
        equal_error_rate=equal_error_rate(scores[own], scores[~own]),
        candidates=candidates,
    )


def equal_error_rate(genuine: npt.NDArray[np.float64], impostor: npt.NDArray[np.float64]) -> float:
    """Where as many impostors pass as genuine people are turned away, between the two nearest thresholds."""
    from sklearn.metrics import roc_curve

    passed, accepted, _ = roc_curve(np.repeat([True, False], [len(genuine), len(impostor)]), np.r_[genuine, impostor])
    nearest = int(np.argmin(np.abs(passed - (1 - accepted))))
    return float((passed[nearest] + 1 - accepted[nearest]) / 2)
