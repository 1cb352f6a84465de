"""Who takes part in a round. Each sampler knows the privacy event that its own draw earns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sordino._check import at_least, fraction
from sordino._registry import Registry
from sordino.config import option
from sordino.errors import ConfigError
from sordino.privacy.events import FixedSizeGaussian, GaussianEvent, PoissonGaussian
from sordino.privacy.noise import Stream

__all__ = ["COHORTS", "CohortSampler", "FixedSize", "Poisson"]

COHORTS: Registry[Any] = Registry("cohort sampler")
"""All cohort samplers by name, the values of ``federated.cohort``."""


class CohortSampler(ABC):
    """Draws the clients of a round from those that are available.

    Availability must not depend on anybody's data. The population is the declared one, never the number available.
    """

    name: ClassVar[str]

    @property
    def parties(self) -> int | None:
        """How many are asked in each round, whoever they are; None where that number is itself drawn."""
        return None

    @abstractmethod
    def expected(self, population: int) -> float:
        """n, the divisor of every round's sum: the number of clients drawn from a full population, on average."""

    @abstractmethod
    def draw(self, available: Sequence[str], *, population: int, stream: Stream) -> tuple[str, ...]:
        """The cohort, in the order of ``available``; it may be empty."""

    @abstractmethod
    def event(self, noise_multiplier: float, *, population: int) -> GaussianEvent:
        """What a round with this draw and multiplier z costs."""


@COHORTS.register("poisson")
@dataclass(frozen=True, slots=True)
class Poisson(CohortSampler):
    """Every client decides by itself with probability q. The size varies; the divisor is qK."""

    rate: float = option("Probability q that a client takes part in a round.", 0.3)

    def __post_init__(self) -> None:
        fraction("federated.cohort.rate", self.rate, one=True)

    def expected(self, population: int) -> float:
        """QK."""
        return self.rate * population

    def draw(self, available: Sequence[str], *, population: int, stream: Stream) -> tuple[str, ...]:  # noqa: ARG002
        """Each client with probability q, independently; raises ConfigError where a client is named twice."""
        _refuse_duplicates(available)
        chosen = stream.uniform(len(available)) < self.rate
        return tuple(client for client, takes_part in zip(available, chosen, strict=True) if takes_part)

    def event(self, noise_multiplier: float, *, population: int) -> GaussianEvent:  # noqa: ARG002
        """Poisson-sampled Gaussian under add-or-remove-one adjacency."""
        return PoissonGaussian(noise_multiplier=noise_multiplier, rate=self.rate)


@COHORTS.register("fixed")
@dataclass(frozen=True, slots=True)
class FixedSize(CohortSampler):
    """Exactly n of the K declared clients, drawn without replacement.

    The draw is over all K places, so that a place whose client is away today is a drop-out and the rate stays n/K.
    """

    size: int = option("Number n of clients in a round.", 8)

    def __post_init__(self) -> None:
        at_least("federated.cohort.size", self.size, 1)

    @property
    def parties(self) -> int:
        """The size n."""
        return self.size

    def expected(self, population: int) -> float:
        """The size n."""
        self._fits(population)
        return float(self.size)

    def draw(self, available: Sequence[str], *, population: int, stream: Stream) -> tuple[str, ...]:
        """The n places with the smallest of K uniform numbers.

        Raises:
            ConfigError: more clients than places, n above K, or a client twice.
        """
        self._fits(population)
        _refuse_duplicates(available)
        if len(available) > population:
            raise ConfigError(
                f"privacy.population = {population}, but {len(available)} clients are available: expected at most as many "
                "as declared, since the others would never be drawn; declare more."
            )
        places = sorted(stream.uniform(population).argsort(kind="stable")[: self.size].tolist())
        return tuple(available[place] for place in places if place < len(available))

    def event(self, noise_multiplier: float, *, population: int) -> GaussianEvent:
        """Gaussian on a sample without replacement under replace-one adjacency, where the sensitivity is 2C."""
        self._fits(population)
        return FixedSizeGaussian(noise_multiplier=noise_multiplier, size=self.size, population=population)

    def _fits(self, population: int) -> None:
        if self.size > population:
            raise ConfigError(
                f"federated.cohort.size = {self.size} is more than the population of {population} clients; lower it."
            )


def _refuse_duplicates(available: Sequence[str]) -> None:
    """A client named twice could be drawn twice, and would then move the sum by 2C."""
    if len(set(available)) < len(available):
        twice = next(client for client, times in Counter(available).items() if times > 1)
        raise ConfigError(f"client {twice!r} is named twice: expected distinct clients; give each an id of its own.")
