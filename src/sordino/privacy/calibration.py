"""The noise that a target epsilon needs."""

from __future__ import annotations

import math
from collections.abc import Callable

from sordino._check import at_least, positive
from sordino.errors import PrivacyError
from sordino.privacy.accounting import guaranteed
from sordino.privacy.events import Event

__all__ = ["affordable_rounds", "noise_multiplier_for"]

_MOST_NOISE = 1e4
_LEAST_NOISE = 1e-2


def noise_multiplier_for(
    target: float, *, event: Callable[[float], Event], rounds: int, delta: float, multiplicity: int = 1
) -> float:
    """The least noise multiplier z, to four digits, with epsilon(z) <= target. Never above the target.

    Args:
        target: epsilon to stay under.
        event: one round's event as a function of z.
        rounds: number of rounds T that are composed.
        delta: probability with which the bound may fail.
        multiplicity: how many clients the protected unit may own.

    Raises:
        PrivacyError: no multiplier below 10,000 reaches the target.
    """
    positive("privacy.epsilon", target)
    at_least("federated.rounds", rounds, 1)

    def holds(z: float) -> bool:
        figure = guaranteed([event(z)] * rounds, delta=delta, multiplicity=multiplicity)
        return figure.value is not None and figure.value <= target

    high = 1.0
    while not holds(high):
        high *= 2
        if high > _MOST_NOISE:
            raise PrivacyError(
                f"privacy.epsilon = {target}: not reached with noise multiplier {_MOST_NOISE:.0f} over {rounds} "
                "rounds; raise epsilon or delta, or lower the cohort rate or the number of rounds."
            )
    low = high / 2
    while low > _LEAST_NOISE and holds(low):
        low, high = low / 2, low
    return _bisect(holds, low, high, tolerance=2e-4)


def _bisect(holds: Callable[[float], bool], low: float, high: float, *, tolerance: float) -> float:
    """The smallest z that ``holds``, from above, with four digits after the point where those still hold."""
    while high / low > 1 + tolerance:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    rounded = math.ceil(high * 1e4) / 1e4
    return rounded if holds(rounded) else high


def affordable_rounds(
    budget: float, *, spent: list[Event], event: Event, most: int, delta: float, multiplicity: int = 1
) -> int:
    """How many more rounds of ``event``, at most ``most``, fit under ``budget`` after what was ``spent``."""

    def fits(rounds: int) -> bool:
        figure = guaranteed([*spent, *[event] * rounds], delta=delta, multiplicity=multiplicity)
        return figure.value is not None and figure.value <= budget

    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
