"""The noise that a target epsilon needs."""

from __future__ import annotations

import math
from collections.abc import Callable

from sordino._check import at_least, positive
from sordino.errors import PrivacyError
from sordino.privacy.accounting import Epsilon, guaranteed, rough
from sordino.privacy.events import Event

__all__ = ["affordable_rounds", "noise_multiplier_for"]

_MOST_NOISE = 1e4
_LEAST_NOISE = 1e-2
_FAR = 50.0  # stands for an infinite excess, which no root finder takes


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

    def excess(log_z: float, figure: Callable[..., Epsilon] = guaranteed) -> float:
        """How far epsilon lies above the target, in logarithms; it falls as the noise grows."""
        value = figure([event(math.exp(log_z))] * rounds, delta=delta, multiplicity=multiplicity).value
        return min(math.log(max(math.inf if value is None else value, 1e-12) / target), _FAR)

    # The rough figure is quick and not far off, so that the exact one is asked for only near the answer.
    quick = rough([event(1.0)] * rounds, delta=delta, multiplicity=multiplicity).value is not None
    start = _root(lambda log_z: excess(log_z, rough), 0.0, step=math.log(2)) if quick else 0.0
    exact = _root(excess, start, step=0.05 if quick else math.log(2)) if start is not None else None
    if exact is None:
        raise PrivacyError(
            f"privacy.epsilon = {target}: not reached with noise multiplier {_MOST_NOISE:.0f} over {rounds} "
            "rounds; raise epsilon or delta, or lower the cohort rate or the number of rounds."
        )
    z = math.ceil(math.exp(exact) * 1e4) / 1e4
    while excess(math.log(z)) > 0:
        z *= 1 + 1e-4
    return z


def _root(excess: Callable[[float], float], start: float, *, step: float) -> float | None:
    """Where a falling function is zero, from above to 1e-5; None if that lies beyond the most noise.

    Above it, the end is the least noise at which the function was found not to be positive.
    """
    from scipy.optimize import brentq

    low = high = start
    if excess(start) > 0:
        while excess(high) > 0:
            if high > math.log(_MOST_NOISE):
                return None
            low, high, step = high, high + step, 2 * step
    else:
        while excess(low) <= 0:
            if low < math.log(_LEAST_NOISE):
                return low
            low, high, step = low - step, low, 2 * step
    return float(brentq(excess, low, high, xtol=1e-5))


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
