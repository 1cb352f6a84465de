"""Clean embeddings: the reference without privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.privacy import PlainRelease
from sordino.privacy.noise import Stream
from sordino.split.noise.base import NOISES, EmbeddingNoise, Guarantee, Rows, Space, Unit

__all__ = ["NoNoise"]


@NOISES.register("none")
@dataclass(frozen=True, slots=True, kw_only=True)
class NoNoise(EmbeddingNoise):
    """No noise and no bound: whoever receives the embeddings reads the text off them."""

    def bound(self, embeddings: Rows, *, space: Space) -> Rows:  # noqa: ARG002 - nothing is bounded
        """The embeddings themselves."""
        return embeddings

    def sample(self, tokens: int, *, space: Space, stream: Stream) -> npt.NDArray[np.float64]:  # noqa: ARG002
        """Zeros."""
        return np.zeros((tokens, space.width))

    def event(self, unit: Unit, *, space: Space) -> PlainRelease:  # noqa: ARG002 - the same for any unit
        """See `EmbeddingNoise.event`."""
        return PlainRelease(what=f"embeddings of every {space.whole}")

    def guarantee(self, unit: Unit, *, space: Space, draws: int, delta: float, written: int = 0) -> Guarantee:  # noqa: ARG002
        """See `EmbeddingNoise.guarantee`."""
        words = f"For one {unit}: nothing. The embeddings of its {space.part}s were sent as they are."
        return Guarantee(unit=unit, kind="none", epsilon=math.inf, delta=0.0, words=words)
