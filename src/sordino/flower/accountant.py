"""Our accounting behind Flower's `PrivacyAccountant` protocol, for strategies of Flower that take one.

Unlike Flower's own, which knows Renyi orders alone, it gives the smaller of what PLD and RDP prove.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, cast

from flwr.serverapp import GaussianPrivacyEvent, NeighboringRelation, PrivacyConfig, PrivacySpent, SamplingMethod

from sordino.errors import ConfigError
from sordino.privacy import Event, FixedSizeGaussian, PoissonGaussian, guaranteed

__all__ = ["GuaranteedAccountant"]

_HALVINGS: Final = 40


class GuaranteedAccountant:
    """Composes Flower's events as `sordino.privacy.guaranteed` counts them.

    | Flower's sampling | counted as |
    |---|---|
    | Poisson | Poisson with rate sample / population, one client added or left out |
    | without replacement | a fixed-size draw, one client replaced |
    | no amplification | everybody takes part, one client added or left out |

    Args:
        config: Flower's settings.
    """

    def __init__(self, config: PrivacyConfig) -> None:
        self._config = config
        self._events: list[GaussianPrivacyEvent] = []

    @property
    def config(self) -> PrivacyConfig:
        """Flower's settings."""
        return self._config

    @property
    def num_releases(self) -> int:
        """How many releases were composed."""
        return len(self._events)

    def compose(self, event: GaussianPrivacyEvent, count: int = 1) -> None:
        """Adds a release ``count`` times; raises ConfigError for another population than the config's."""
        self._events += [self._checked(event)] * count

    def get_epsilon(self, delta: float) -> float:
        """Epsilon of all releases; infinite where nothing is proven."""
        return self._epsilon(self._events, delta)

    def get_delta(self, epsilon: float) -> float:
        """The least delta, by halving, at which ``epsilon`` holds; rounded up."""
        low, high = -60.0, 0.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.get_epsilon(10**middle) <= epsilon else (middle, high)
        return float(10**high)

    def get_privacy_spent(self, delta: float | None = None) -> PrivacySpent:
        """What all releases cost, at ``delta`` or the config's."""
        delta = self._config.target_delta if delta is None else delta
        return PrivacySpent(
            self.get_epsilon(delta), delta, self.num_releases, accounting_method="sordino: min(PLD, RDP)"
        )

    def would_exceed(self, event: GaussianPrivacyEvent, max_epsilon: float | None = None, count: int = 1) -> bool:
        """Whether that much more is above ``max_epsilon`` or the config's; raises ConfigError if neither is set."""
        limit = self._config.max_epsilon if max_epsilon is None else max_epsilon
        if limit is None:
            raise ConfigError("max_epsilon is missing: expected it here or in PrivacyConfig; set it.")
        return self._epsilon([*self._events, *[self._checked(event)] * count], self._config.target_delta) > limit

    def state_dict(self) -> dict[str, object]:
        """Everything, as plain types."""
        config = asdict(self._config)
        plain = {key: value.value if isinstance(value, NeighboringRelation | SamplingMethod) else value
                 for key, value in config.items()}  # fmt: skip
        return {"config": plain, "events": [asdict(event) for event in self._events]}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Takes up what `state_dict` gave."""
        config = dict(cast(dict[str, Any], state["config"]))
        config["neighboring_relation"] = NeighboringRelation(config["neighboring_relation"])
        config["sampling_method"] = SamplingMethod(config["sampling_method"])
        self._config = PrivacyConfig(**config)
        events = cast(list[dict[str, Any]], state["events"])
        self._events = [self._checked(GaussianPrivacyEvent(**event)) for event in events]

    def _checked(self, event: GaussianPrivacyEvent) -> GaussianPrivacyEvent:
        if event.population_size != self._config.population_size:
            raise ConfigError(
                f"an event for a population of {event.population_size}: expected {self._config.population_size} as in "
                "PrivacyConfig; declare one population."
            )
        return event

    def _epsilon(self, events: Sequence[GaussianPrivacyEvent], delta: float) -> float:
        if not events:
            return 0.0
        value = guaranteed([self._ours(event) for event in events], delta=delta).value
        return math.inf if value is None else value

    def _ours(self, event: GaussianPrivacyEvent) -> Event:
        z, size, population = event.noise_multiplier, event.sample_size, event.population_size
        if self._config.sampling_method is SamplingMethod.WITHOUT_REPLACEMENT:
            return FixedSizeGaussian(noise_multiplier=z, size=size, population=population)
        amplified = self._config.sampling_method is SamplingMethod.POISSON
        return PoissonGaussian(noise_multiplier=z, rate=size / population if amplified else 1.0)
