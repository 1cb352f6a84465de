"""d_chi privacy: noise whose logarithm falls with the Euclidean distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino._check import positive
from sordino.config import option
from sordino.privacy import MetricRelease
from sordino.privacy.noise import Stream
from sordino.split.noise.base import NOISES, EmbeddingNoise, Guarantee, Space, Unit, in_name_only
from sordino.split.noise.gamma import gamma

__all__ = ["DChi"]


@NOISES.register("d-chi")
@dataclass(frozen=True, slots=True, kw_only=True)
class DChi(EmbeddingNoise):
    """d_chi privacy over the Euclidean distance: radius ~ Gamma(d, rate eta), direction uniform on the sphere.

    The density at noise n is proportional to ``exp(-eta |n|)``, so that between embeddings at distance D no outcome is more
    than ``e^(eta D)`` times likelier under one than under the other. The norm of the noise is about ``d / eta``.

    | two embeddings | ratio of likelihoods at most |
    |---|---|
    | equal | 1 |
    | at distance D | ``e^(eta D)`` |
    | any two, norms at most R | ``e^(2 eta R)``: at eta 100 and R 0.974, e^195 |
    | any two sequences of m tokens | ``e^(2 eta R m)`` |
    """

    eta: float = option("Loss per unit of Euclidean distance; the noise is about d / eta long.", 100.0)

    def __post_init__(self) -> None:
        EmbeddingNoise.__post_init__(self)
        positive("privacy.noise.eta", self.eta)

    def sample(self, tokens: int, *, space: Space, stream: Stream) -> npt.NDArray[np.float64]:
        """See `EmbeddingNoise.sample`."""
        direction = stream.normal(tokens * space.width).reshape(tokens, space.width)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return direction * (gamma(space.width, size=tokens, stream=stream) / self.eta)[:, None]

    def event(self, unit: Unit, *, space: Space) -> MetricRelease:  # noqa: ARG002 - the same for any unit
        """See `EmbeddingNoise.event`."""
        return MetricRelease(eta=self.eta, metric="l2", what=space.sent)

    def guarantee(self, unit: Unit, *, space: Space, draws: int, delta: float, written: int = 0) -> Guarantee:  # noqa: ARG002
        """See `EmbeddingNoise.guarantee`."""
        radius, rate = self.radius_in(space), draws * self.eta
        rows, part = space.rows(unit), f"{space.part}s"
        alone, largest = rows == 1, 2 * rate * radius * rows
        return Guarantee(
            unit=unit,
            kind="metric",
            epsilon=largest,
            delta=0.0,
            words=(
                f"For one {unit}: what was sent is at most e^({rate:g} D) times likelier under it than under another at "
                f"Euclidean distance D{'' if alone else f', summed over its {part}'}. Embeddings are at most "
                f"{2 * radius:.3g} apart{'' if alone else f' in each of at most {rows} {part}'}, so the ratio "
                f"is bounded by e^{largest:.0f} and by nothing smaller.{in_name_only(largest)}"
            ),
        )
