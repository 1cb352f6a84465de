"""What a population can buy: whether the noise that a guarantee needs leaves anything to be learnt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["WORKABLE_NOISE", "Prospects", "prospects_of"]

WORKABLE_NOISE: Final = 1.91
"""Noise of the default job, which learns nearly as well as without: z = 0.74, 96,384 parameters, 120 voices a round."""

_BEARABLE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Prospects:
    """How the noise compares with what is to be learnt.

        noise = z sqrt(d) / n

    is the length of a round's noise over the longest possible average update, for d trained parameters and an expected
    cohort of n.

    Attributes:
        noise: the ratio above.
        population: the number of clients there are.
        population_needed: about how many it would take for `WORKABLE_NOISE`, at the same cohort rate and rounds.
    """

    noise: float
    population: int
    population_needed: int

    @property
    def good(self) -> bool:
        """Whether the noise is at most twice that of a job known to learn."""
        return self.noise <= _BEARABLE * WORKABLE_NOISE

    @property
    def words(self) -> str:
        """For people."""
        measured = (
            f"Noise: {self.noise:.3g} times as long as the most that the average update can be "
            f"({WORKABLE_NOISE:.2g} times in the default job, which learns well)."
        )
        if self.good:
            return f"{measured} That leaves room to learn."
        return (
            f"{measured} Expect it to drown what {self.population} speakers can teach: for a guarantee this strong it would "
            f"take about {self.population_needed:,} speakers. A higher epsilon or fewer trained parameters "
            "(model.train_encoder = false) help a little."
        )


def prospects_of(report: Mapping[str, Any]) -> Prospects:
    """The prospects of an experiment, from its `plan_report`."""
    noise = report["noise_multiplier"] * math.sqrt(sum(report["parameters"].values())) / report["expected_cohort"]
    needed = report["population"] * max(1.0, noise / WORKABLE_NOISE)
    step = 10 ** max(0, math.floor(math.log10(needed)) - 1)
    return Prospects(noise, report["population"], math.ceil(needed / step) * step)
