"""Divisions of a budget: none exceeds it, the optimal one does the least harm, the published one is what it was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import ConfigError, PrivacyError
from sordino.modality import BUDGETS, Budget, Demand
from sordino.modality.budgets.optimal import Optimal
from sordino.modality.budgets.published import Published
from sordino.modality.budgets.shares import Shares
from sordino.modality.gaussian import composed_multiplier, gaussian_epsilon
from sordino.models.emotion import STAGES

DELTA = 1e-5
demands = st.tuples(*[st.tuples(st.floats(1e-3, 10), st.floats(0.01, 10), st.integers(1, 64))] * 3).map(
    lambda rows: [Demand(name, *row) for name, row in zip(STAGES, rows, strict=True)]
)


def example(name: str) -> Budget:
    return Shares(of={"features": 2.0, "classification": 1.0}) if name == "shares" else BUDGETS.get(name)()


@pytest.mark.parametrize("name", BUDGETS.names())
@settings(max_examples=25)
@given(wanted=demands, target=st.floats(0.05, 6))
def test_no_division_exceeds_its_budget(name: str, wanted: list[Demand], target: float) -> None:
    found = example(name).divide(wanted, epsilon=target, delta=DELTA)
    assert list(found) == list(STAGES)
    assert gaussian_epsilon(composed_multiplier(found.values()), delta=DELTA) <= target


@settings(max_examples=20)
@given(wanted=demands, shares=st.tuples(*[st.floats(0.01, 1)] * 3))
def test_the_optimal_division_does_the_least_harm(wanted: list[Demand], shares: tuple[float, float, float]) -> None:
    def harm(budget: Budget) -> float:
        found = budget.divide(wanted, epsilon=1.0, delta=DELTA)
        return sum(one.weight * one.dimensions * (found[one.name] * one.sensitivity) ** 2 for one in wanted)

    given_shares = Shares(of=dict(zip(STAGES, shares, strict=True)))
    assert harm(Optimal()) <= harm(given_shares) * (1 + 1e-9) + 1e-12


def test_the_optimal_division_follows_its_formula() -> None:
    wanted = [Demand("a", 1.0, 4.0, 9), Demand("b", 2.0, 1.0, 16)]
    z = Optimal().divide(wanted, epsilon=2.0, delta=DELTA)
    assert z["b"] ** -2 / z["a"] ** -2 == pytest.approx((2 * math.sqrt(16)) / (1 * math.sqrt(36)))
    equal = Optimal().divide([Demand("a", 1.0, 0.0, 1), Demand("b", 1.0, 0.0, 1)], epsilon=2.0, delta=DELTA)
    assert equal["a"] == equal["b"]


@pytest.mark.parametrize(("formula", "joint"), [("analytic", 0.7774), ("classical", 0.5577)])
def test_the_published_division_costs_less_than_it_says(formula: str, joint: float) -> None:
    wanted = [Demand(name, 1.0, 1.0, 8) for name in STAGES]
    found = Published(formula=formula).divide(wanted, epsilon=1.0, delta=DELTA)  # type: ignore[arg-type]
    assert math.isinf(found["fusion"])
    assert gaussian_epsilon(composed_multiplier(found.values()), delta=DELTA) == pytest.approx(joint, abs=1e-4)


@dataclass(frozen=True)
class Greedy(Budget):
    """Wants more than there is."""

    name = "greedy"

    def multipliers(self, demands: Sequence[Demand], *, epsilon: float, delta: float) -> Sequence[float]:
        return [1e-3] * len(demands)


def test_a_division_that_exceeds_its_budget_is_refused() -> None:
    with pytest.raises(PrivacyError, match="at most 1 at delta 1e-05"):
        Greedy().divide([Demand("a", 1.0, 1.0, 1)], epsilon=1.0, delta=DELTA)
    with pytest.raises(PrivacyError, match="choose another budget"):
        Published(formula="classical", features=0.99).divide(
            [Demand(name, 1.0, 1.0, 1) for name in STAGES], epsilon=12.0, delta=DELTA
        )


def test_shares_name_their_parts() -> None:
    with pytest.raises(ConfigError, match="did you mean 'features'"):
        Shares(of={"feature": 1.0}).divide([Demand("features", 1.0, 1.0, 1)], epsilon=1.0, delta=DELTA)
    with pytest.raises(ConfigError, match="no share above 0"):
        Shares(of={"features": 0.0})
    with pytest.raises(ConfigError, match="stages features and classification"):
        Published().divide([Demand("tier-1", 1.0, 1.0, 1)], epsilon=1.0, delta=DELTA)
