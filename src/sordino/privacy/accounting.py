"""What a list of events counts for: epsilon at a given delta under two accountants of dp_accounting.

RDP composes Renyi divergences and is always fast; PLD composes privacy loss distributions and is the tighter one. A
figure that an accountant cannot give is None with the reason, never a guess.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from sordino._check import at_least, fraction
from sordino.errors import ConfigError
from sordino.privacy.events import Event, FixedSizeGaussian, GaussianEvent, MetricRelease, PlainRelease, PoissonGaussian
from sordino.privacy.joint import alike

__all__ = ["Accountant", "Epsilon", "advantage", "epsilon", "guaranteed", "rough"]

Accountant: TypeAlias = Literal["pld", "rdp"]

_LEAST_NOISE = 1e-3
_WHOLE_ORDERS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 128, 256)


@dataclass(frozen=True, slots=True)
class Epsilon:
    """A figure of one accountant.

    Attributes:
        value: epsilon; infinity where something was released without noise; None where there is no figure.
        reason: why there is none.
    """

    value: float | None
    reason: str = ""


def guaranteed(events: Sequence[Event], *, delta: float, multiplicity: int = 1) -> Epsilon:
    """The figure that a budget is held to: PLD's, which is the tighter one, or RDP's where PLD has none."""
    figure = epsilon(events, delta=delta, accountant="pld", multiplicity=multiplicity)
    if figure.value is None:
        figure = epsilon(events, delta=delta, accountant="rdp", multiplicity=multiplicity)
    return figure


def epsilon(events: Sequence[Event], *, delta: float, accountant: str = "pld", multiplicity: int = 1) -> Epsilon:
    """Epsilon of all events together.

    Args:
        events: what was released, in any order.
        delta: probability in (0, 1) with which the bound may fail.
        accountant: ``"pld"`` or ``"rdp"``.
        multiplicity: m, how many clients the protected unit may own: 1 for the client itself.

    | events | epsilon |
    |---|---|
    | none | 0 |
    | a plain release, or noise multiplier 0 | infinity |
    | Poisson and fixed-size ones mixed | None: their adjacencies differ |
    | either beside uploads that clients noised | of replacing one client, a sum's z counting half: see `joint.alike` |
    | a metric release | None: its bound grows with the distance of what is compared |

    Raises:
        ConfigError: delta outside (0, 1), multiplicity below 1, or an unknown accountant.
    """
    fraction("delta", delta)
    at_least("multiplicity", multiplicity, 1)
    if accountant not in ("pld", "rdp"):
        raise ConfigError(f"privacy.accountant = {accountant!r}: expected 'pld' or 'rdp'; choose one.")
    events = alike(events)
    counts = Counter(events)
    if not counts:
        return Epsilon(0.0)
    if any(isinstance(event, PlainRelease) or getattr(event, "noise_multiplier", 1) == 0 for event in counts):
        return Epsilon(math.inf)
    if any(isinstance(event, MetricRelease) for event in counts):
        return Epsilon(None, "metric privacy bounds inputs by their distance, and no distance is the largest")
    if len({event.adjacency for event in counts}) > 1:
        return Epsilon(None, "events with different adjacencies cannot be composed")
    figure = _pld if accountant == "pld" else _rdp
    return figure(_counted(events), delta, multiplicity)


def _counted(events: Sequence[Event]) -> tuple[tuple[Any, int], ...]:
    """Each distinct event with how often it happened, in an order of its own."""
    return tuple(sorted(Counter(events).items(), key=repr))


def advantage(events: Sequence[Event], *, multiplicity: int = 1) -> float | None:
    """How far anybody can tell two neighbouring runs apart: the total variation distance of all that was released.

    It is delta at epsilon 0 of the composed privacy loss distribution, an upper bound like every figure here. An attacker
    to whom both runs were equally likely names the right one at most ``(1 + advantage) / 2`` of the time. This uses the
    whole trade-off between epsilon and delta, and so says much more than one pair of them.

    | events | advantage |
    |---|---|
    | none | 0 |
    | a plain release, or noise multiplier 0 | 1 |
    | no privacy loss distribution, see `epsilon` | None |

    Args:
        events: what was released.
        multiplicity: m, how many clients the protected unit may own.

    Raises:
        ConfigError: multiplicity below 1.
    """
    figure = epsilon(events, delta=0.5, multiplicity=multiplicity)
    if not events or figure.value is None or math.isinf(figure.value):
        return None if figure.value is None else float(bool(events))
    return min(float(_total_loss(_counted(alike(events)), multiplicity).get_delta_for_epsilon(0.0)), 1.0)


@lru_cache(maxsize=4096)
def _pld(counts: tuple[tuple[GaussianEvent, int], ...], delta: float, multiplicity: int) -> Epsilon:
    total = _total_loss(counts, multiplicity)
    if isinstance(total, str):
        return Epsilon(None, total)
    # dp_accounting overflows where epsilon lies around 720, whose inverse exponential is next to the smallest float. What
    # a smaller delta costs is an upper bound too, and soon past that place.
    for share in (1.0, 0.9, 0.7, 0.5, 0.2, 0.1, 0.01):
        with np.errstate(over="ignore"):
            value = float(total.get_epsilon_for_delta(share * delta))
        if math.isfinite(value):
            return Epsilon(value)
    return Epsilon(None, "the privacy loss distribution overflowed")


@lru_cache(maxsize=8)
def _total_loss(counts: tuple[tuple[GaussianEvent, int], ...], multiplicity: int) -> Any:
    """Privacy loss distribution of all rounds together, or the reason why there is none."""
    if min(_worst_multiplier(event, multiplicity) for event, _ in counts) < _LEAST_NOISE:
        return "so little noise is beyond the grid of a privacy loss distribution"
    total = None
    interval = max(_interval(event, multiplicity) for event, _ in counts)
    for event, count in counts:
        if isinstance(event, FixedSizeGaussian) and multiplicity == 1 and event.size < event.population:
            return "sampling without replacement has no privacy loss distribution in dp_accounting"
        loss = _loss(event, multiplicity, interval)
        loss = loss.self_compose(count) if count > 1 else loss
        total = loss if total is None else total.compose(loss)
    assert total is not None  # noqa: S101 - counts is never empty
    return total


def _interval(event: GaussianEvent, multiplicity: int) -> float:
    """Width of the loss grid. Coarser is faster and still an upper bound: +0.0003 at epsilon 65.

    Losses grow with ``z**-2``, and with them the width, so that the grid stays small enough for any z.
    """
    z = _worst_multiplier(event, multiplicity)
    return max(1e-3 if multiplicity == 1 and z >= 0.4 else 1e-2, 1e-4 / z**2)


def _worst_multiplier(event: GaussianEvent, multiplicity: int) -> float:
    """Noise relative to the most that one unit can move the sum, when all of its clients are drawn."""
    if isinstance(event, FixedSizeGaussian):
        return _replace_one(event, multiplicity)
    return event.noise_multiplier / multiplicity


@lru_cache(maxsize=64)
def _loss(event: GaussianEvent, multiplicity: int, interval: float) -> Any:
    """Privacy loss distribution of one round."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    if isinstance(event, FixedSizeGaussian):
        return pld.from_gaussian_mechanism(
            _replace_one(event, multiplicity), value_discretization_interval=interval, use_connect_dots=True
        )
    if isinstance(event, PoissonGaussian) and multiplicity > 1:
        return pld.from_mixture_gaussian_mechanism(
            event.noise_multiplier,
            sensitivities=list(range(multiplicity + 1)),
            sampling_probs=list(event.draws(multiplicity)),
            value_discretization_interval=interval,
        )
    rate = event.rate if isinstance(event, PoissonGaussian) else 1.0
    return pld.from_gaussian_mechanism(
        _worst_multiplier(event, multiplicity),
        sampling_prob=rate,
        value_discretization_interval=interval,
        use_connect_dots=True,
    )


def _replace_one(event: FixedSizeGaussian, multiplicity: int) -> float:
    """Noise multiplier that the replacement of one unit sees: each of its clients moves the sum by up to 2C."""
    return event.noise_multiplier / (2 * min(multiplicity, event.size))


def rough(events: Sequence[Event], *, delta: float, multiplicity: int = 1) -> Epsilon:
    """An upper bound within milliseconds, from whole Renyi orders alone: a place to start looking from."""
    return _rdp(_counted(events), delta, multiplicity, _WHOLE_ORDERS)


@lru_cache(maxsize=4096)
def _rdp(
    counts: tuple[tuple[GaussianEvent, int], ...], delta: float, multiplicity: int, orders: tuple[float, ...] = ()
) -> Epsilon:
    from dp_accounting import rdp

    poisson = any(isinstance(event, PoissonGaussian) for event, _ in counts)
    if poisson and multiplicity > 1:
        return Epsilon(None, "mixtures of Gaussians have no Renyi divergence in dp_accounting")
    worst = min(_worst_multiplier(event, multiplicity) for event, _ in counts)
    if worst < 1e-100:
        return Epsilon(None, "so little noise is beyond floating-point numbers")
    orders = orders or _orders(worst)
    figures = []
    for amplified in (True, False):
        accountant = rdp.RdpAccountant(orders, _relation(poisson=poisson))
        with _quiet():
            for event, count in counts:
                accountant.compose(_dp_event(event, multiplicity, amplified=amplified), count)
            figures.append(float(accountant.get_epsilon(delta)))
    return Epsilon(min(figures))


def _relation(*, poisson: bool) -> Any:
    import dp_accounting

    relation = dp_accounting.NeighboringRelation
    return relation.ADD_OR_REMOVE_ONE if poisson else relation.REPLACE_ONE


def _dp_event(event: GaussianEvent, multiplicity: int, *, amplified: bool) -> Any:
    """The event for dp_accounting, with or without what random sampling earns: both are valid, the smaller counts."""
    import dp_accounting

    if isinstance(event, FixedSizeGaussian):
        gaussian = dp_accounting.GaussianDpEvent(_replace_one(event, multiplicity))
        sampled = amplified and multiplicity == 1 and event.size < event.population
        return (
            dp_accounting.SampledWithoutReplacementDpEvent(event.population, event.size, gaussian)
            if sampled
            else gaussian
        )
    gaussian = dp_accounting.GaussianDpEvent(_worst_multiplier(event, multiplicity))
    if isinstance(event, PoissonGaussian) and event.rate < 1 and amplified:
        return dp_accounting.PoissonSampledDpEvent(event.rate, gaussian)
    return gaussian


def _orders(noise_multiplier: float) -> tuple[float, ...]:
    """Renyi orders. With little noise the best one lies just above 1; there the default grid is up to 34 % loose."""
    near_one = [1 + 10 ** (exponent / 20) for exponent in range(-60, 0)] if noise_multiplier < 0.6 else []
    return (*near_one, *(1 + step / 10 for step in range(1, 100)), *range(11, 64), 80, 128, 256, 512, 1024)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences dp_accounting's note on each order whose series did not converge: such an order is left out, soundly."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
