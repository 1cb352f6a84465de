"""What guesses about planted canaries prove: a lower bound on epsilon from one training run.

Each of m canaries is put in by a fair coin of its own. An auditor sees what was released, guesses some of the coins and
abstains from the rest. Under (epsilon, delta)-differential privacy no auditor is right more often than somebody who is right
with probability ``e^epsilon / (1 + e^epsilon)`` each time, up to a term in delta; whoever is right more often has refuted
that epsilon.

Source: Steinke, Nasr and Jagielski, Privacy Auditing with One (1) Training Run, 2023, the theorem for approximate
differential privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom, binomtest

from sordino._check import at_least
from sordino.errors import ConfigError

__all__ = ["Success", "enough_guesses", "epsilon_lower_bound", "p_value", "require_countable"]


def p_value(*, canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """Bounds the probability of so many right guesses if the mechanism is (epsilon, delta)-private.

    ``P[W >= v] + 2 m delta max_i P[v - i <= W < v] / i`` for ``W ~ Binomial(r, e^epsilon / (1 + e^epsilon))``.

    Args:
        canaries: m, planted by independent fair coins.
        guesses: r, how many of the coins were guessed; fixed, or corrected for by whoever chose it.
        correct: v, how many of them rightly.
        epsilon: the hypothesis.
        delta: its delta.

    | case | result |
    |---|---|
    | no guess, or none right | 1 |
    | all right, delta 0 | ``(e^epsilon / (1 + e^epsilon))^r`` |
    """
    if not correct:
        return 1.0
    probability = expit(epsilon)
    below = np.cumsum(binom.pmf(np.arange(correct - 1, -1, -1), guesses, probability))
    slack = float((below / np.arange(1, correct + 1)).max())
    return min(1.0, float(binom.sf(correct - 1, guesses, probability)) + 2 * canaries * delta * slack)


def epsilon_lower_bound(*, canaries: int, guesses: int, correct: int, delta: float, level: float = 0.05) -> float:
    """The largest epsilon that is refuted, along with all smaller ones, at error probability ``level``; 0 if none is.

    With all r guesses right and delta 0 it is ``log(a / (1 - a))`` for ``a = level^(1/r)``, about ``log(r / 3)`` at 5 %: the
    most that a number of guesses can prove.

    Raises:
        ConfigError: more canaries than `require_countable` allows.
    """
    require_countable(canaries, delta=delta)

    def excess(epsilon: float) -> float:
        return p_value(canaries=canaries, guesses=guesses, correct=correct, epsilon=epsilon, delta=delta) - level

    if excess(0.0) >= 0:
        return 0.0
    return float(brentq(excess, 0.0, math.log(guesses) + 20, xtol=1e-6))


def require_countable(canaries: int, *, delta: float) -> None:
    """Raises ConfigError unless ``2 m delta <= 1``, where the p-value rises with epsilon and so has one crossing.

    Its derivative has the sign of ``P[W = v-1] (1 - 2 m delta / i) + 2 m delta / i P[W = v-1-i]``, W of one guess less.
    """
    at_least("--canaries", canaries, 1)
    if 2 * canaries * delta > 1:
        raise ConfigError(
            f"--canaries = {canaries} at delta {delta:g}: expected at most 1 / (2 delta) = {1 / (2 * delta):.0f}, since "
            "delta counts once for each; plant fewer, or lower privacy.delta."
        )


def enough_guesses(epsilon: float, *, canaries: int, most: int, delta: float, level: float) -> int | None:
    """The least number of guesses, all right, that refutes epsilon; None where ``most`` guesses are too few."""
    low, high = 0, most
    if epsilon_lower_bound(canaries=canaries, guesses=high, correct=high, delta=delta, level=level) <= epsilon:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        bound = epsilon_lower_bound(canaries=canaries, guesses=middle, correct=middle, delta=delta, level=level)
        low, high = (low, middle) if bound > epsilon else (middle, high)
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """How often an attack was right.

    Attributes:
        right: number of right answers.
        tried: number of answers.
        chance: the rate of somebody who sees nothing.
    """

    right: int
    tried: int
    chance: float

    @property
    def ci95(self) -> tuple[float, float]:
        """Exact 95 % interval after Clopper and Pearson, of independent answers."""
        interval = binomtest(self.right, self.tried).proportion_ci(0.95, method="exact")
        return float(interval.low), float(interval.high)

    def to_json(self) -> dict[str, Any]:
        """``success``, ``chance`` and ``ci95`` as fractions, and the counts."""
        return {
            "success": self.right / self.tried,
            "chance": self.chance,
            "ci95": list(self.ci95),
            "right": self.right,
            "tried": self.tried,
        }
