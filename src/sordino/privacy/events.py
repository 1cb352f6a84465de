"""What happened, in the ledger's words. Events say what was released; `accounting` says what it counts for.

| event | adjacency | sensitivity |
|---|---|---|
| `PoissonGaussian` | add or remove one unit | C for one client; j C for a speaker of whom j clients were drawn |
| `FixedSizeGaussian` | replace one unit | 2 C for one client; 2 C min(m, n) for a speaker with m clients |
| `GaussianRelease` | its own ``neighbours`` | C, or m C for a unit that owns m of them |
| `MetricRelease` | any two inputs | their distance: a ratio of ``e^(eta d)``, no epsilon |
| `PlainRelease` | any | unbounded: no guarantee |
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sordino._check import at_least, did_you_mean, fraction, one_of, positive
from sordino.errors import PrivacyError

__all__ = [
    "Event",
    "FixedSizeGaussian",
    "GaussianEvent",
    "GaussianRelease",
    "MetricRelease",
    "PlainRelease",
    "PoissonGaussian",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(ABC):
    """One release. Frozen, hashable, and the same after a round trip through the ledger."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def adjacency(self) -> str:
        """Which two runs are compared; only events of the same adjacency compose."""

    def to_json(self) -> dict[str, Any]:
        """The event as a table with its ``kind``."""
        return {"kind": self.kind, **dataclasses.asdict(self)}

    @staticmethod
    def from_json(table: Mapping[str, Any]) -> Event:
        """The event that `to_json` wrote; raises PrivacyError on anything else."""
        members = (PoissonGaussian, FixedSizeGaussian, GaussianRelease, MetricRelease, PlainRelease)
        kinds: dict[str, type[Event]] = {kind.kind: kind for kind in members}
        kind = table.get("kind")
        try:
            return kinds[str(kind)](**{key: value for key, value in table.items() if key != "kind"})
        except (KeyError, TypeError):
            raise PrivacyError(
                f"ledger event {dict(table)!r} is not understood{did_you_mean(kind, kinds)}: expected one of "
                f"{', '.join(kinds)} with its own fields; read the ledger with the version of sordino that wrote it."
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianEvent(Event):
    """A sum of clipped updates with Gaussian noise.

    Args:
        noise_multiplier: z, the effective multiplier ``(sum_b C_b**2 / s_b**2)**(-1/2)``: s/C for isotropic noise.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        at_least("noise_multiplier", self.noise_multiplier, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonGaussian(GaussianEvent):
    """Every client took part with probability ``rate``, independently."""

    kind: ClassVar[str] = "poisson-gaussian"
    adjacency: ClassVar[str] = "add-or-remove-one"

    rate: float

    def __post_init__(self) -> None:
        GaussianEvent.__post_init__(self)
        fraction("rate", self.rate, one=True)

    def draws(self, multiplicity: int) -> tuple[float, ...]:
        """Probability that 0, 1, ..., m clients of one unit take part: binomial(m, q)."""
        q, m = self.rate, multiplicity
        return tuple(math.comb(m, j) * q**j * (1 - q) ** (m - j) for j in range(m + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSizeGaussian(GaussianEvent):
    """Exactly ``size`` of ``population`` clients took part."""

    kind: ClassVar[str] = "fixed-size-gaussian"
    adjacency: ClassVar[str] = "replace-one"

    size: int
    population: int

    def __post_init__(self) -> None:
        GaussianEvent.__post_init__(self)
        at_least("size", self.size, 1)
        at_least("population", self.population, self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianRelease(GaussianEvent):
    """One thing with Gaussian noise on it, nobody drawn at random: a noised embedding, a model after surgery.

    Args:
        noise_multiplier: z, its standard deviation over the most that it changes between neighbours.
        neighbours: which two runs are compared.
        what: what was released, for the statement.
    """

    kind: ClassVar[str] = "gaussian"

    neighbours: str = "add-or-remove-one"
    what: str = ""

    @property
    def adjacency(self) -> str:
        """Its ``neighbours``."""
        return self.neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRelease(Event):
    """Something released with noise that hides it among what is near (metric, or d_chi, privacy).

    Between inputs at distance d, no outcome is more than ``e^(eta d)`` times likelier under one than under the other.

    Args:
        eta: loss per unit of distance.
        metric: the distance.
        what: what was released, for the statement.
    """

    kind: ClassVar[str] = "metric"
    adjacency: ClassVar[str] = "any-two-inputs"

    eta: float
    metric: str
    what: str

    def __post_init__(self) -> None:
        positive("eta", self.eta)
        one_of("metric", self.metric, ["l1", "l2"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRelease(Event):
    """Something left without noise: nothing bounds what it reveals.

    Args:
        what: what was released, for the statement.
    """

    kind: ClassVar[str] = "plain-release"
    adjacency: ClassVar[str] = "none"

    what: str
