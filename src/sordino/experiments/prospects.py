"""What a population can buy: whether the noise that a guarantee needs leaves anything to be learnt."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from sordino.experiments.planning import plan_report
from sordino.experiments.tasks.federated import FederatedExperiment

__all__ = ["WORKABLE_NOISE", "Prospects", "prospects_of"]

WORKABLE_NOISE: Final = 1.91
"""Noise of the default job, which learns nearly as well as without: z = 0.74, 96,384 parameters, 120 voices a round."""

_BEARABLE: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospects:
    """How the noise compares with what is to be learnt.

        noise = z sqrt(d) / n

    is the length of a round's noise over the longest possible average update, for d trained parameters and an expected
    cohort of n.

    Attributes:
        noise: the ratio above.
        population: the number of clients there are.
        population_needed: about how many it would take for `WORKABLE_NOISE`, at the same cohort rate and rounds.
        epsilon_workable: what the clients there are could be guaranteed with `WORKABLE_NOISE`; None where there is no
            bound.
    """

    noise: float
    population: int
    population_needed: int
    epsilon_workable: float | None

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
        offer = "nothing" if self.epsilon_workable is None else f"epsilon {self.epsilon_workable:,.0f}"
        return (
            f"{measured} Expect it to drown what {self.population} speakers can teach: a guarantee this strong takes about "
            f"{self.population_needed:,} speakers, and with as little noise as in the default job these could only be "
            f"promised {offer}. Training fewer parameters (model.train_encoder = false) helps a little."
        )


def prospects_of(options: FederatedExperiment) -> Prospects:
    """The prospects of a private experiment that declares its population."""
    report = plan_report(options)
    root = math.sqrt(sum(report["parameters"].values()))
    noise = report["noise_multiplier"] * root / report["expected_cohort"]
    needed = report["population"] * max(1.0, noise / WORKABLE_NOISE)
    step = 10 ** max(0, math.floor(math.log10(needed)) - 1)
    workable = replace(options.privacy, noise_multiplier=WORKABLE_NOISE * report["expected_cohort"] / root)
    epsilon = plan_report(replace(options, privacy=workable))["epsilon"]
    return Prospects(
        noise=noise,
        population=report["population"],
        population_needed=math.ceil(needed / step) * step,
        epsilon_workable=min((value for name in ("pld", "rdp") if (value := epsilon[name]) is not None), default=None),
    )
