"""The closed form against the reference figures and against dp_accounting."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import ConfigError
from sordino.modality.gaussian import (
    analytic_multiplier,
    classical_multiplier,
    composed_multiplier,
    gaussian_delta,
    gaussian_epsilon,
    zcdp,
    zcdp_epsilon,
)
from sordino.privacy import epsilon
from sordino.privacy.events import GaussianRelease

# Computed with dp_accounting 0.6.0 and scipy.
SIGMAS = {0.3: 11.238, 0.7: 5.1665, 1.0: 3.7306, 2.0: 1.9938, 4.0: 1.0812, 8.0: 0.6002, 10.0: 0.4999}
STAGES = {  # calibration: rho of each stage, epsilon by the simple conversion, epsilon exactly
    classical_multiplier: ([0.01044, 0.00192], 0.767, 0.558),
    analytic_multiplier: ([0.01873, 0.00396], 1.0449, 0.7774),
}
DELTA = 1e-5


@pytest.mark.parametrize(("target", "sigma"), SIGMAS.items())
def test_analytic_sigmas(target: float, sigma: float) -> None:
    assert analytic_multiplier(target, delta=DELTA) == pytest.approx(sigma, rel=2e-4)


@pytest.mark.parametrize("calibration", STAGES)
def test_two_published_stages_compose_once(calibration: Callable[..., float]) -> None:
    expected_rho, simple, exact = STAGES[calibration]
    multipliers = [calibration(stage, delta=DELTA) for stage in (0.7, 0.3)]
    rho = [zcdp(z) for z in multipliers]
    assert rho == pytest.approx(expected_rho, rel=5e-3)
    assert zcdp_epsilon(sum(rho), delta=DELTA) == pytest.approx(simple, abs=1e-3)
    assert gaussian_epsilon(composed_multiplier(multipliers), delta=DELTA) == pytest.approx(exact, abs=1e-3)


def test_the_classical_formula_breaks_its_claim_where_ours_keeps_it() -> None:
    classical, ours = (calibrate(10.0, delta=DELTA) for calibrate in (classical_multiplier, analytic_multiplier))
    assert gaussian_delta(10.0, noise_multiplier=classical) > 2 * DELTA
    assert gaussian_epsilon(classical, delta=DELTA) > 10.3
    assert gaussian_delta(10.0, noise_multiplier=ours) <= DELTA
    by_library = epsilon([GaussianRelease(noise_multiplier=classical)], delta=DELTA).value
    assert by_library is not None
    assert by_library > 10.3
    assert gaussian_delta(8.0, noise_multiplier=classical_multiplier(8.0, delta=DELTA)) <= DELTA
    assert gaussian_delta(8.5, noise_multiplier=classical_multiplier(8.5, delta=DELTA)) > DELTA


@given(target=st.floats(0.01, 50), delta=st.floats(1e-12, 0.1))
def test_never_above_the_target_and_no_more_noise_than_needed(target: float, delta: float) -> None:
    z = analytic_multiplier(target, delta=delta)
    assert gaussian_delta(target, noise_multiplier=z) <= delta
    assert gaussian_delta(target, noise_multiplier=z * 0.999) > delta
    assert gaussian_epsilon(z, delta=delta) == pytest.approx(target, rel=1e-6)


@settings(max_examples=12)
@given(multipliers=st.lists(st.floats(0.4, 20), min_size=1, max_size=4))
def test_composition_is_what_the_ledger_counts(multipliers: list[float]) -> None:
    ours = gaussian_epsilon(composed_multiplier(multipliers), delta=DELTA)
    theirs = epsilon([GaussianRelease(noise_multiplier=z) for z in multipliers], delta=DELTA).value
    assert theirs is not None
    assert ours <= theirs * (1 + 1e-6)
    assert theirs == pytest.approx(ours, rel=5e-3, abs=2e-3)


def test_edges() -> None:
    assert gaussian_delta(1.0, noise_multiplier=0) == 1
    assert gaussian_delta(1.0, noise_multiplier=math.inf) == 0
    assert gaussian_epsilon(0, delta=DELTA) == math.inf
    assert gaussian_epsilon(1e9, delta=DELTA) == 0
    assert composed_multiplier([]) == math.inf
    assert composed_multiplier([1.0, 0.0]) == 0
    assert composed_multiplier([1.0, math.inf]) == 1
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(ConfigError):
            analytic_multiplier(bad, delta=DELTA)
