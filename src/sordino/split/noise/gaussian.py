"""Analytic Gaussian local differential privacy on norm-clipped embeddings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sordino._check import positive
from sordino.config import option
from sordino.errors import ConfigError
from sordino.privacy import GaussianRelease, guaranteed
from sordino.privacy.noise import Stream
from sordino.split.noise.base import NOISES, EmbeddingNoise, Guarantee, Space, Unit, in_name_only

__all__ = ["Gaussian"]


@NOISES.register("gaussian")
@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(EmbeddingNoise):
    """Normal noise of standard deviation ``2 R z``: one token replaced by another moves a clipped embedding by at most 2R.

    The only law here with an epsilon in the usual sense. It is exact (a privacy loss distribution, not the classical
    formula), also over repeated draws.

    | unit replaced | sensitivity | noise multiplier |
    |---|---|---|
    | one token | 2R | z |
    | a sequence of at most m tokens, lengths public | 2R sqrt(m) | z / sqrt(m) |
    | anything, where n tokens that a network trained on it wrote are sent | 2R sqrt(n) | z / sqrt(n) |
    """

    noise_multiplier: float = option(
        "z: standard deviation of the noise in units of 2R, the most that one token can change; 3.73 gives one token "
        "epsilon 1 at delta 1e-5, and 0.6 epsilon 8.",
        1.0,
    )

    def __post_init__(self) -> None:
        EmbeddingNoise.__post_init__(self)
        if self.noise_multiplier == 0:
            raise ConfigError(
                "privacy.noise.noise_multiplier = 0: expected a number above 0; to send clean embeddings, say "
                'noise = "none".'
            )
        positive("privacy.noise.noise_multiplier", self.noise_multiplier)

    def sample(self, tokens: int, *, space: Space, stream: Stream) -> npt.NDArray[np.float64]:
        """See `EmbeddingNoise.sample`."""
        std = 2 * self.radius_in(space) * self.noise_multiplier
        return std * stream.normal(tokens * space.width).reshape(tokens, space.width)

    def event(self, unit: Unit, *, space: Space) -> GaussianRelease:
        """See `EmbeddingNoise.event`."""
        return GaussianRelease(
            noise_multiplier=self.noise_multiplier / math.sqrt(space.rows(unit)),
            neighbours=f"one {unit} replaced by another",
            what=space.sent,
        )

    def guarantee(self, unit: Unit, *, space: Space, draws: int, delta: float, written: int = 0) -> Guarantee:
        """See `EmbeddingNoise.guarantee`."""
        held, one = (self.event(unit, space=place) for place in (space, replace(space, written=1)))
        figure = guaranteed([held] * draws + [one] * written, delta=delta).value
        value = math.inf if figure is None else figure
        most = "" if unit == space.part else f" of at most {space.max_tokens} {space.part}s"
        return Guarantee(
            unit=unit,
            kind="differential",
            epsilon=value,
            delta=delta,
            words=(
                f"For one {unit}{most}: ({math.ceil(value * 100) / 100:.2f}, {delta:g})-local differential privacy against "
                f"whoever receives the embeddings.{in_name_only(value)}"
                if math.isfinite(value)
                else f"For one {unit}{most}: so little noise that no epsilon can be given."
            ),
        )
