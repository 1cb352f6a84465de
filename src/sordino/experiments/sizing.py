"""Settings that suit a model and the recordings at hand: window, cohort, rounds, local training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sordino.data import Utterance
from sordino.errors import DataError
from sordino.models import ModelOptions
from sordino.models.encoders import POSITIONS_PER_S, empty_encoder
from sordino.models.recipe import Recipe

__all__ = ["Training", "cohort_rate", "training_for", "window_for"]

_WIDE_ENOUGH: Final = 0.99
_COHORT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How long and how fast to train; starting points, not optima.

    Attributes:
        rounds: of the federation.
        every: rounds between measurements.
        epochs: of a client in a round.
        lr: of a client.
        batch_size: of a client.
        workers: clients trained side by side.
        allocation: of the clip norm, as TOML.
    """

    rounds: int
    every: int
    epochs: int
    lr: float
    batch_size: int
    workers: int
    allocation: str


_SMALL: Final = Training(rounds=10, every=2, epochs=2, lr=3e-3, batch_size=8, workers=2, allocation='"flat"')
_LARGE: Final = Training(
    rounds=20,
    every=5,
    epochs=2,
    lr=3e-4,
    batch_size=4,
    workers=1,
    allocation='"auto"',
)


def training_for(model: ModelOptions) -> Training:
    """The pocket model's small weights bear larger steps than those of pretrained giants."""
    return _SMALL if model.base == "pocket" else _LARGE


def cohort_rate(population: int) -> float:
    """The probability with which each client takes part: about a hundred in a round, or all where there are fewer.

    The noise is divided by the cohort, so the fewer people there are, the more each of them is needed.
    """
    if population <= _COHORT:
        return 1.0
    rate = _COHORT / population
    digits = 1 - math.floor(math.log10(rate))
    return round(rate, digits)


def window_for(model: ModelOptions, utterances: Sequence[Utterance]) -> float:
    """Seconds that the model should hear at once: a base's own window, or what 99 % of the clips fit into.

    Raises:
        ConfigError: no such model.
        DataError: not a single clip fits into what the model can hear.
    """
    recipe = Recipe.of(model)
    most_s = recipe.window_s or _full_window_s(recipe.encoder)
    lengths = sorted(utterance.duration_s for utterance in utterances)
    if lengths[0] > most_s:
        raise DataError(
            f"every recording is longer than the {most_s:g} s that the model hears at once (at least {lengths[0]:.2f} s); "
            "cut the recordings at pauses, or name a model that hears more with --encoder and --decoder."
        )
    if model.base is not None:
        return most_s
    wanted = math.ceil(lengths[math.ceil(_WIDE_ENOUGH * len(lengths)) - 1])
    return min(float(wanted), most_s)


def _full_window_s(encoder: str) -> float:
    """Seconds that an encoder has positions for."""
    config: Any = empty_encoder(encoder, window_s=None, stack=1).config
    return float(config.max_source_positions / POSITIONS_PER_S)
