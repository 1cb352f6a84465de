"""What every law of noise has: a bound on the embeddings, an event for the ledger, and a guarantee in words.

The protected value is a sequence of token embeddings, or a recording of frame embeddings, and whoever receives them is the
one to be protected from: this is *local* privacy. How many tokens or frames there are is not hidden by any of these laws.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino._check import at_least, positive
from sordino._registry import Registry
from sordino.config import option
from sordino.privacy import Event, NoiseSource, Receipt
from sordino.privacy.noise import Stream
from sordino.privacy.statement import MEANINGFUL

__all__ = ["NOISES", "EmbeddingNoise", "Guarantee", "Rows", "Space", "Unit", "in_name_only"]

Unit: TypeAlias = Literal["token", "sequence", "frame", "recording"]
Rows: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Where embeddings lie. All of it is public.

    Attributes:
        width: d.
        radius: the largest norm of a row of the embedding table, or of frames of public recordings.
        max_tokens: the longest sequence that is sent.
        part: what a row is.
        written: so many rows were written by a network that has learned from everybody's, without noise; any unit can
            change all of them. 0 for rows that units hold themselves.
    """

    width: int
    radius: float
    max_tokens: int
    part: Literal["token", "frame"] = "token"
    written: int = 0

    def __post_init__(self) -> None:
        at_least("width", self.width, 2)
        positive("radius", self.radius)
        at_least("max_tokens", self.max_tokens, 1)

    @property
    def whole(self) -> Literal["sequence", "recording"]:
        """What the rows make up."""
        return "sequence" if self.part == "token" else "recording"

    def rows(self, unit: Unit) -> int:
        """The most rows that one unit can change."""
        held = 1 if unit == self.part else self.max_tokens
        return self.written or held

    @property
    def sent(self) -> str:
        """What one draw of noise is of, in words."""
        if self.written:
            return f"{self.part}s that a network trained on every {self.whole} wrote"
        return f"one draw of noised embeddings of every {self.whole}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What one unit is promised after some draws of noise about it.

    Attributes:
        unit: one token or frame, or one whole sequence or recording of at most `Space.max_tokens` of them.
        kind: ``differential``: (epsilon, delta)-local differential privacy; ``metric``: a loss that grows with the distance,
            of which ``epsilon`` is the largest there is; ``none``.
        epsilon: the largest logarithm of a ratio of likelihoods; infinite where nothing is promised.
        delta: probability with which it may fail.
        words: the same in a sentence.
    """

    unit: Unit
    kind: Literal["differential", "metric", "none"]
    epsilon: float
    delta: float
    words: str

    def to_json(self) -> dict[str, Any]:
        """The guarantee as a table; an infinite epsilon is null."""
        known = math.isfinite(self.epsilon)
        return {"kind": self.kind, "epsilon": self.epsilon if known else None, "delta": self.delta, "words": self.words}


def in_name_only(epsilon: float) -> str:
    """What has to be said of a figure that is too large to protect anybody; nothing of a smaller one."""
    return " That is a guarantee in name only: a factor this large protects nobody." if epsilon > MEANINGFUL else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingNoise(ABC):
    """A law of noise on token embeddings; a frozen dataclass whose fields are its options.

    Embeddings are scaled down to norm R before the noise, which bounds how far two of them can be apart, and the noised
    ones after it, which is only arithmetic on what is released anyway: it costs no privacy and keeps the large model in the
    range that it knows.
    """

    name: ClassVar[str]

    radius: float | None = option(
        "R: embeddings are scaled down to this norm before the noise, and noised ones after it; the largest norm of the "
        "model's table, or of the public recordings' frames, where unset.",
        None,
    )

    def __post_init__(self) -> None:
        if self.radius is not None:
            positive("privacy.noise.radius", self.radius)

    @abstractmethod
    def sample(self, tokens: int, *, space: Space, stream: Stream) -> npt.NDArray[np.float64]:
        """Noise for some tokens, independent from one to the next.

        Shape:
            result: float64 [tokens, d]
        """

    @abstractmethod
    def event(self, unit: Unit, *, space: Space) -> Event:
        """What one draw for every sequence costs, for the ledger: different sequences are different units."""

    @abstractmethod
    def guarantee(self, unit: Unit, *, space: Space, draws: int, delta: float, written: int = 0) -> Guarantee:
        """What a unit is promised after ``draws`` independent draws of noise on it, and ``written`` rows besides."""

    def radius_in(self, space: Space) -> float:
        """R, at most the space's own: no embedding is longer than the longest."""
        return space.radius if self.radius is None else min(self.radius, space.radius)

    def bound(self, embeddings: Rows, *, space: Space) -> Rows:
        """Rows scaled down to norm R; shorter ones are left.

        Shape:
            embeddings, result: float32 [tokens, d]
        """
        norms = np.linalg.norm(embeddings.astype(np.float64), axis=1, keepdims=True)
        scaled: Rows = (embeddings * np.minimum(1.0, self.radius_in(space) / np.maximum(norms, 1e-30))).astype(
            np.float32
        )
        return scaled

    def release(
        self,
        embeddings: Rows,
        *,
        space: Space,
        unit: Unit,
        receipt: Receipt,
        noise: NoiseSource,
        place: tuple[str | int, ...] = (),
    ) -> Rows:
        """Noised embeddings of all tokens of any number of *different* sequences.

        Args:
            embeddings: of all tokens, one after another.
            space: where they lie.
            unit: what the ledger's epsilon is about.
            receipt: pays for one draw, from ``ledger.charge(self.event(...))``.
            noise: where randomness comes from.
            place: names this draw; matters in seeded simulations only, where two draws of one place are the same.

        Raises:
            PrivacyError: the receipt is for something else, or used.

        Shape:
            embeddings, result: float32 [tokens, d]
        """
        receipt.spend(self.event(unit, space=space), seeded=noise.seeded)
        return self.rehearse(embeddings, space=space, stream=noise.stream("split", *place))

    def rehearse(self, embeddings: Rows, *, space: Space, stream: Stream) -> Rows:
        """What `release` would give, unpaid: for texts that protect nobody, and for attackers, who know the law.

        Shape:
            embeddings, result: float32 [tokens, d]
        """
        inside = self.bound(embeddings, space=space).astype(np.float64)
        noised = inside + self.sample(len(embeddings), space=space, stream=stream)
        return self.bound(noised.astype(np.float32), space=space)


NOISES: Registry[EmbeddingNoise] = Registry("noise on embeddings", package="sordino.split.noise")
"""All laws of noise, by name."""
