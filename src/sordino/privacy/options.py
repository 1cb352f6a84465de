"""The ``[privacy]`` table of an experiment, and the plan and terms that follow from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from sordino._check import at_least, fraction, one_of, positive
from sordino.config import Choice, option
from sordino.errors import ConfigError
from sordino.layout import GROUPINGS
from sordino.privacy.allocations.base import ALLOCATIONS, Allocation
from sordino.privacy.allocations.split import AlphaSplit
from sordino.privacy.shares import NoiseShares
from sordino.privacy.tracking import Tracking

__all__ = ["PrivacyOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyOptions:
    """What is protected and how strongly."""

    mechanism: Literal["gaussian", "none"] = option(
        "Gaussian noise on clipped sums, or none (no guarantee).", "gaussian"
    )
    clip_norm: float = option("C: the L2 norm that one client's update is clipped to.", 1.0)
    noise_multiplier: float | None = option(
        "z: noise on the sum has standard deviation z C. Unset: from epsilon.", None
    )
    epsilon: float | None = option("Budget. Alone it decides z; beside z the run stops before exceeding it.", None)
    delta: float | None = option("Probability that the bound fails. Unset: min(1e-5, 1 / (10 population)).", None)
    force_delta: bool = option("Allow delta >= 1 / population, which permits revealing somebody.", default=False)
    unit: Literal["speaker", "client"] = option("Whose presence is hidden: a speaker, or one client.", "speaker")
    population: int | None = option("K, the public number of clients. Unset: the clients of the training data.", None)
    grouping: str = option("What forms a group: tensor, pair (LoRA's A with B), layer or component.", "tensor")
    allocation: Annotated[Allocation, Choice(ALLOCATIONS)] = option("How C is divided.", factory=AlphaSplit)
    rule: Literal["clip", "normalise"] = option(
        "clip shrinks what is too large; normalise also lets small groups grow to their bound.", "clip"
    )
    noise_shape: Literal["isotropic", "component-aware"] = option(
        "The same noise everywhere, or less in all, spread by the groups' bounds; the guarantee is the same.",
        "isotropic",
    )
    noised_by: Literal["server", "clients"] = option(
        "Who adds the noise: the server, once to a sum; or every client to all that it sends, which the server may then "
        "look at, and of which it takes much more.",
        "server",
    )
    shares: NoiseShares | None = option(
        "Let every party of a round add a share of the noise, so that no sum is ever without. Unset: the server adds it.",
        None,
    )
    tracking: Tracking | None = option("Let C follow the size of the updates; unset keeps it.", None)

    def __post_init__(self) -> None:
        one_of("privacy.grouping", self.grouping, GROUPINGS)
        if self.clip_norm != math.inf:
            positive("privacy.clip_norm", self.clip_norm)
        if self.noise_multiplier is not None:
            at_least("privacy.noise_multiplier", self.noise_multiplier, 0)
        if self.epsilon is not None:
            positive("privacy.epsilon", self.epsilon)
        if self.delta is not None:
            fraction("privacy.delta", self.delta)
        if self.population is not None:
            at_least("privacy.population", self.population, 1)
        if self.shares is not None:
            self._refuse_shares()
        if self.mechanism == "gaussian" and self.noise_multiplier is None and self.epsilon is None:
            raise ConfigError(
                "privacy.epsilon and privacy.noise_multiplier are both missing: expected one of them; set a target such "
                'as privacy.epsilon = 8, or privacy.mechanism = "none" for a run without privacy.'
            )

    def _refuse_shares(self) -> None:
        """Raises ConfigError where noise in shares means nothing, or where a release has noise of the server's alone."""
        if self.mechanism == "none" or self.noised_by == "clients":
            raise ConfigError(
                f'privacy.shares with mechanism = "{self.mechanism}" and noised_by = "{self.noised_by}": expected '
                '"gaussian" and "server", whose noise is made in shares; unset one of them.'
            )
        if self.tracking is not None or self.allocation.reads_clip_rates or self.allocation.reads_raw_norms:
            raise ConfigError(
                f"privacy.shares with tracking or allocation {self.allocation.name!r}: the counts that those read carry "
                'noise of the server alone; unset tracking, and set privacy.allocation to "flat", "dim" or "alpha-split".'
            )

    def delta_for(self, population: int) -> float:
        """Delta, checked against the population.

        Raises:
            ConfigError: delta >= 1/K and not forced.
        """
        delta = self.delta if self.delta is not None else min(1e-5, 1 / (10 * population))
        if delta >= 1 / population and not self.force_delta:
            raise ConfigError(
                f"privacy.delta = {delta:g} is not below 1/population = {1 / population:g}: such a delta permits revealing "
                "one person entirely; lower it, or set privacy.force_delta = true."
            )
        return delta
