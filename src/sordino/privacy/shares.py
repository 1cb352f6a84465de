"""Noise that is made in shares: every party of a round adds its own, so that no sum is ever without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sordino._check import at_least
from sordino.config import option
from sordino.errors import ConfigError

__all__ = ["NoiseShares"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseShares:
    """Each of N parties adds noise of variance ``s**2 / (N - t)`` to what it sends; the server adds missing shares.

    A party is a client of a fixed-size cohort, or a site that draws its own clients. Let s be the standard deviation that
    the plan asks for. While at most t parties drop out, what the others have sent carries s by itself, so even a server
    that adds nothing, or that sees the sum alone (secure aggregation), has a sum with its full noise.

    The variance of the whole is ``s**2 N / (N - t)``, however many came. That is on purpose: were it to follow how many
    answered, its size alone would tell, in a model of a million parameters, whether one more had taken part. It is also why
    parties that are drawn by chance cannot share noise: how many of them there are is part of what is hidden.

    | parties that answer | noise that the server adds | noise in all |
    |---|---|---|
    | N | none | ``s sqrt(N / (N - t))`` |
    | k < N | variance ``s**2 (N - k) / (N - t)`` | the same |
    | none | all of it | the same |

    The ledger charges s, not the little more that is there.

    Source: Dwork et al., Our Data, Ourselves, 2006, for noise in shares; what is topped up is ours.
    """

    parties: int = option(
        "N: how many add a share in each round; the size of the fixed cohort, or the number of sites."
    )
    tolerated: int = option("t: how many of them may drop out before the others' noise falls short.", 0)

    def __post_init__(self) -> None:
        at_least("privacy.shares.parties", self.parties, 1)
        at_least("privacy.shares.tolerated", self.tolerated, 0)
        if self.tolerated >= self.parties:
            raise ConfigError(
                f"privacy.shares.tolerated = {self.tolerated}: expected fewer than the {self.parties} parties, since "
                "somebody has to bring the noise; lower it."
            )

    @property
    def fraction(self) -> float:
        """Standard deviation of one share, in units of the plan's."""
        return 1 / math.sqrt(self.parties - self.tolerated)

    def require(self, asked: int | None) -> None:
        """Raises ConfigError unless every round asks as many parties as there are shares.

        Args:
            asked: how many a round asks; None where that is drawn.
        """
        if asked != self.parties:
            found = "a number drawn by chance" if asked is None else str(asked)
            raise ConfigError(
                f"privacy.shares.parties = {self.parties}, but a round asks {found}: expected the same number every time, "
                "since the size of the noise would tell who took part; use federated.cohort = "
                f'{{ method = "fixed", size = {self.parties} }}, or {self.parties} sites that draw their own clients.'
            )

    def one(self, stds: Sequence[float]) -> tuple[float, ...]:
        """Standard deviations of one party's share."""
        return tuple(std * self.fraction for std in stds)

    def missing(self, stds: Sequence[float], *, answered: int) -> tuple[float, ...]:
        """Standard deviations of what the server adds when so many have answered."""
        factor = math.sqrt(max(self.parties - answered, 0)) * self.fraction
        return tuple(std * factor for std in stds)

    def total(self, stds: Sequence[float], *, answered: int) -> tuple[float, ...]:
        """Standard deviations of all noise together: the same for any number up to N."""
        factor = math.sqrt(max(self.parties, answered)) * self.fraction
        return tuple(std * factor for std in stds)
