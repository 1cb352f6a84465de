"""The noise for a target: never above the target, and hardly below it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import ConfigError, PrivacyError
from sordino.privacy import (
    FixedSizeGaussian,
    PoissonGaussian,
    affordable_rounds,
    epsilon,
    guaranteed,
    noise_multiplier_for,
)
from sordino.privacy.events import Event

REFERENCE = json.loads((Path(__file__).parent / "reference.json").read_text())
DELTA = 1e-5


def spent(event: Event, rounds: int, multiplicity: int = 1) -> float:
    value = guaranteed([event] * rounds, delta=DELTA, multiplicity=multiplicity).value
    assert value is not None
    return value


@settings(max_examples=2, deadline=None)
@given(q=st.floats(0.02, 1.0), rounds=st.integers(1, 60), target=st.floats(0.5, 30))
def test_the_calibrated_noise_stays_under_the_target(q: float, rounds: int, target: float) -> None:
    def event(z: float) -> Event:
        return PoissonGaussian(noise_multiplier=z, rate=q)

    z = noise_multiplier_for(target, event=event, rounds=rounds, delta=DELTA)
    assert spent(event(z), rounds) <= target
    assert spent(event(z * 0.999), rounds) > target * 0.995
    assert spent(event(z), rounds) >= target * 0.995


@pytest.mark.slow
def test_fixed_size_and_speakers_calibrate_too() -> None:
    def fixed(z: float) -> Event:
        return FixedSizeGaussian(noise_multiplier=z, size=8, population=200)

    z = noise_multiplier_for(8.0, event=fixed, rounds=20, delta=DELTA)
    assert 8.0 * 0.995 <= spent(fixed(z), 20) <= 8.0

    z = noise_multiplier_for(8.0, event=fixed, rounds=20, delta=DELTA, multiplicity=2)
    assert 8.0 * 0.995 <= spent(fixed(z), 20, multiplicity=2) <= 8.0


@pytest.mark.parametrize("target", ["8"])
def test_the_noise_needed_is_the_reference(target: str) -> None:
    def event(z: float) -> Event:
        return PoissonGaussian(noise_multiplier=z, rate=0.3)

    table = REFERENCE["z_needed_T40_q0.3_delta_1e-5"]
    z = noise_multiplier_for(float(target), event=event, rounds=40, delta=DELTA)
    assert z == pytest.approx(table["pld"][target], rel=5e-3)
    by_rdp = epsilon([event(table["rdp"][target])] * 40, delta=DELTA, accountant="rdp").value
    assert by_rdp == pytest.approx(float(target), rel=1e-2)


def test_a_huge_target_needs_hardly_any_noise() -> None:
    def event(z: float) -> Event:
        return PoissonGaussian(noise_multiplier=z, rate=0.3)

    z = noise_multiplier_for(1e6, event=event, rounds=1, delta=DELTA)
    assert z < 0.05
    assert spent(event(z), 1) <= 1e6


def test_an_impossible_target_is_said_so() -> None:
    with pytest.raises(PrivacyError, match=r"privacy\.epsilon = 1e-06: not reached"):
        noise_multiplier_for(
            1e-6, event=lambda z: PoissonGaussian(noise_multiplier=z, rate=1.0), rounds=100, delta=1e-9
        )


@pytest.mark.parametrize(
    ("target", "rounds", "named"), [(0.0, 1, "privacy.epsilon = 0.0"), (1.0, 0, "federated.rounds = 0")]
)
def test_bad_targets_name_their_key(target: float, rounds: int, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        noise_multiplier_for(
            target, event=lambda z: PoissonGaussian(noise_multiplier=z, rate=0.3), rounds=rounds, delta=DELTA
        )
    assert named in str(caught.value)


def test_affordable_rounds_are_the_most_that_fit() -> None:
    event = PoissonGaussian(noise_multiplier=1.5, rate=0.3)
    budget = spent(event, 7)
    for already in (0, 3, 9):
        more = affordable_rounds(budget, spent=[event] * already, event=event, most=20, delta=DELTA)
        assert more == max(7 - already, 0)
    assert affordable_rounds(budget, spent=[], event=event, most=4, delta=DELTA) == 4
    assert affordable_rounds(budget * 0.9999, spent=[], event=event, most=20, delta=DELTA) == 6
    assert affordable_rounds(budget, spent=[], event=event, most=20, delta=DELTA, multiplicity=3) < 7
