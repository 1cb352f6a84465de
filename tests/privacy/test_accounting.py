"""Epsilon against figures computed elsewhere, and the rules of composition."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from sordino.errors import ConfigError
from sordino.privacy import Epsilon, FixedSizeGaussian, PlainRelease, PoissonGaussian, epsilon, guaranteed
from sordino.privacy.accounting import advantage

REFERENCE = json.loads((Path(__file__).parent / "reference.json").read_text())
DELTA = 1e-5


def poisson(z: float, q: float) -> PoissonGaussian:
    return PoissonGaussian(noise_multiplier=z, rate=q)


def value_of(figure: Epsilon) -> float:
    assert figure.value is not None, figure.reason
    return figure.value


def gaussian_epsilon(mu: float) -> float:
    """Exact epsilon of Gaussian differential privacy with parameter mu."""

    def excess(eps: float) -> float:
        return float(norm.cdf(-eps / mu + mu / 2) - math.exp(eps) * norm.cdf(-eps / mu - mu / 2)) - DELTA

    return float(brentq(excess, 0, 300))


@pytest.mark.parametrize("row", REFERENCE["epsilon"], ids=lambda row: f"z={row['z']:.3g}-q={row['q']}-T={row['T']}")
def test_reference_figures(row: dict[str, float]) -> None:
    events = [poisson(row["z"], row["q"])] * int(row["T"])
    pld = value_of(epsilon(events, delta=row["delta"], accountant="pld"))
    rdp = value_of(epsilon(events, delta=row["delta"], accountant="rdp"))
    assert pld == pytest.approx(row["pld"], rel=1e-3)
    assert pld <= rdp
    if row["rdp_fine"] is not None:
        assert rdp <= 1.005 * row["rdp_fine"]


@pytest.mark.parametrize("scale", ["10", "50"])
def test_reference_populations(scale: str) -> None:
    z = 0.1 * int(scale)
    expected = REFERENCE["population_pld_T40_q0.3_delta_1e-5"]["by_scale"][scale]
    assert value_of(epsilon([poisson(z, 0.3)] * 40, delta=DELTA)) == pytest.approx(expected, rel=5e-3)


def test_a_fixed_size_cohort_is_not_accounted_as_poisson() -> None:
    row = REFERENCE["sampling_94_of_2338_z1_T100_delta_1e-5"]
    fixed = [FixedSizeGaussian(noise_multiplier=1.0, size=94, population=2338)] * 100
    assert value_of(guaranteed(fixed, delta=DELTA)) == pytest.approx(row["fixed_size"], rel=5e-3)
    as_poisson = epsilon([poisson(1.0, 94 / 2338)] * 100, delta=DELTA, accountant="rdp")
    assert value_of(as_poisson) == pytest.approx(row["poisson"], rel=5e-3)
    assert epsilon(fixed, delta=DELTA).value is None
    assert "without replacement" in epsilon(fixed, delta=DELTA).reason


def test_a_speaker_with_sessions_is_protected_less_than_a_session() -> None:
    row = REFERENCE["sessions_z1_q1/3_T20_delta_1e-5"]
    events = [poisson(1.0, 1 / 3)] * 20
    client = value_of(epsilon(events, delta=DELTA))
    speaker = value_of(epsilon(events, delta=DELTA, multiplicity=4))
    assert client == pytest.approx(row["client"], rel=5e-3)
    assert speaker == pytest.approx(row["speaker_with_4"], rel=1e-2)
    figure = epsilon(events, delta=DELTA, accountant="rdp", multiplicity=4)
    assert figure.value is None
    assert "mixtures" in figure.reason


@pytest.mark.parametrize("multiplicity", [1, 3])
def test_without_sampling_both_draws_are_plain_gaussians(multiplicity: int) -> None:
    z, rounds = 6.0, 4
    added = value_of(epsilon([poisson(z, 1.0)] * rounds, delta=DELTA, multiplicity=multiplicity))
    assert added == pytest.approx(gaussian_epsilon(multiplicity * math.sqrt(rounds) / z), rel=1e-3)
    fixed = [FixedSizeGaussian(noise_multiplier=z, size=9, population=9)] * rounds
    replaced = value_of(epsilon(fixed, delta=DELTA, multiplicity=multiplicity))
    assert replaced == pytest.approx(gaussian_epsilon(2 * multiplicity * math.sqrt(rounds) / z), rel=1e-3)


def test_replacing_a_speaker_moves_the_sum_by_two_c_for_each_of_its_drawn_clients() -> None:
    few = FixedSizeGaussian(noise_multiplier=20.0, size=3, population=50)
    for multiplicity, drawn in ((2, 2), (3, 3), (10, 3)):
        figure = epsilon([few], delta=DELTA, multiplicity=multiplicity)
        assert value_of(figure) == pytest.approx(gaussian_epsilon(2 * drawn / 20), rel=1e-3)


def test_sampling_never_costs_more_than_no_sampling() -> None:
    nearly_all = FixedSizeGaussian(noise_multiplier=2.0, size=99, population=100)
    everyone = FixedSizeGaussian(noise_multiplier=2.0, size=100, population=100)
    sampled, whole = (
        value_of(epsilon([event] * 10, delta=DELTA, accountant="rdp")) for event in (nearly_all, everyone)
    )
    assert sampled <= whole * (1 + 1e-9)


def test_renyi_orders_follow_what_a_unit_can_move() -> None:
    fixed = [FixedSizeGaussian(noise_multiplier=1.0, size=94, population=94)] * 100
    rdp = value_of(epsilon(fixed, delta=DELTA, accountant="rdp", multiplicity=20))
    assert rdp <= 1.05 * value_of(epsilon(fixed, delta=DELTA, multiplicity=20))


@pytest.mark.parametrize(("z", "multiplicity"), [(0.01, 1), (0.003, 1), (0.1, 2)])
def test_hardly_any_noise_is_accounted_quickly_and_from_above(z: float, multiplicity: int) -> None:
    figure = value_of(epsilon([poisson(z, 1.0)], delta=DELTA, multiplicity=multiplicity))
    mu = multiplicity / z
    assert mu**2 / 2 <= figure <= (mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / DELTA))) * 1.01


def test_no_noise_worth_the_name_has_a_bound_of_one_accountant_only() -> None:
    figure = epsilon([poisson(1e-5, 0.3)], delta=DELTA)
    assert (figure.value, bool(figure.reason)) == (None, True)
    assert value_of(guaranteed([poisson(1e-5, 0.3)], delta=DELTA)) > 1e9


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_edges(accountant: str) -> None:
    def figure(*events: object) -> Epsilon:
        return epsilon(list(events), delta=DELTA, accountant=accountant)  # type: ignore[arg-type]

    assert figure() == Epsilon(0.0)
    assert figure(PlainRelease(what="a mean")) == Epsilon(math.inf)
    assert figure(poisson(0.0, 0.3), poisson(5.0, 0.3)) == Epsilon(math.inf)
    assert figure(poisson(5.0, 0.3), PlainRelease(what="a mean")) == Epsilon(math.inf)
    mixed = figure(poisson(5.0, 0.3), FixedSizeGaussian(noise_multiplier=5.0, size=2, population=9))
    assert mixed.value is None
    assert "adjacencies" in mixed.reason


@settings(max_examples=3, deadline=None)
@given(z=st.floats(0.8, 4), q=st.floats(0.05, 0.9), rounds=st.integers(1, 30))
def test_figures_are_ordered(z: float, q: float, rounds: int) -> None:
    events = [poisson(z, q)] * rounds
    here = value_of(epsilon(events, delta=DELTA))
    assert here <= value_of(epsilon(events, delta=DELTA, accountant="rdp")) * (1 + 1e-6) + 2e-3
    assert here < value_of(epsilon([*events, poisson(z, q)], delta=DELTA))
    assert here < value_of(epsilon([poisson(z * 0.9, q)] * rounds, delta=DELTA))
    assert here < value_of(epsilon(events, delta=DELTA / 10))
    assert here < value_of(epsilon(events, delta=DELTA, multiplicity=2))


def test_composition_does_not_depend_on_order() -> None:
    first, second = poisson(1.0, 0.2), poisson(2.0, 0.4)
    results = {value_of(epsilon(events, delta=DELTA)) for events in ([first, second, first], [second, first, first])}
    assert len(results) == 1
    assert results.pop() > value_of(epsilon([first, first], delta=DELTA))


def test_asking_twice_gives_the_same() -> None:
    events = [poisson(1.3, 0.25)] * 7
    for accountant in ("pld", "rdp"):
        assert epsilon(events, delta=DELTA, accountant=accountant) == epsilon(
            events, delta=DELTA, accountant=accountant
        )
    near = [poisson(math.nextafter(1.3, 2), 0.25)] * 7
    assert epsilon(near, delta=DELTA) != epsilon([poisson(1.2, 0.25)] * 7, delta=DELTA)


def test_two_kinds_with_equal_numbers_are_two_events() -> None:
    poisson_like = poisson(1.0, 1.0)
    fixed = FixedSizeGaussian(noise_multiplier=1.0, size=1, population=1)
    assert poisson_like != fixed
    assert epsilon([poisson_like], delta=DELTA) != epsilon([fixed], delta=DELTA)


def test_the_log_level_of_others_is_left_as_it_was() -> None:
    logger = logging.getLogger("absl")
    level = logger.level
    epsilon([poisson(0.11, 0.3)], delta=DELTA, accountant="rdp")
    assert logger.level == level


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"delta": 0.0}, "delta = 0.0"),
        ({"delta": 1.0}, "delta = 1.0"),
        ({"delta": math.nan}, "delta = nan"),
        ({"delta": 1e-5, "multiplicity": 0}, "multiplicity = 0"),
        ({"delta": 1e-5, "accountant": "moments"}, "privacy.accountant = 'moments'"),
    ],
)
def test_bad_questions_name_the_value(options: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        epsilon([poisson(1.0, 0.3)], **options)  # type: ignore[arg-type]
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        (PoissonGaussian, {"noise_multiplier": -1.0, "rate": 0.3}, "noise_multiplier = -1.0"),
        (PoissonGaussian, {"noise_multiplier": 1.0, "rate": 0.0}, "rate = 0.0"),
        (PoissonGaussian, {"noise_multiplier": 1.0, "rate": 1.1}, "rate = 1.1"),
        (FixedSizeGaussian, {"noise_multiplier": 1.0, "size": 0, "population": 5}, "size = 0"),
        (FixedSizeGaussian, {"noise_multiplier": 1.0, "size": 6, "population": 5}, "population = 5"),
    ],
)
def test_events_refuse_impossible_rounds(kind: type, options: dict[str, float], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        kind(**options)
    assert named in str(caught.value)


@pytest.mark.parametrize(("z", "rounds"), [(0.5, 1), (1.0, 1), (1.0, 9), (4.0, 25)])
def test_the_advantage_of_gaussians_is_their_total_variation(z: float, rounds: int) -> None:
    exact = 2 * norm.cdf(math.sqrt(rounds) / (2 * z)) - 1
    assert exact <= advantage([poisson(z, 1.0)] * rounds) == pytest.approx(exact, abs=2e-3)


def test_the_advantage_is_at_most_the_chance_of_taking_part() -> None:
    found = advantage([poisson(0.1, 0.05)] * 4)
    assert found == pytest.approx(1 - 0.95**4, abs=2e-3)
    assert advantage([poisson(0.1, 0.05)] * 4, multiplicity=2) == pytest.approx(1 - 0.95**8, abs=2e-3)


def test_advantages_at_the_ends() -> None:
    assert advantage([]) == 0.0
    assert advantage([PlainRelease(what="all")]) == 1.0
    assert advantage([poisson(0.0, 0.5)]) == 1.0
    assert advantage([FixedSizeGaussian(noise_multiplier=1.0, size=3, population=9)]) is None


@pytest.mark.parametrize(("z", "q", "rounds"), [(0.1, 0.33333333, 17), (0.1, 0.3, 18), (0.12, 0.3, 31)])
def test_no_number_of_rounds_has_a_hole(z: float, q: float, rounds: int) -> None:
    """There epsilon is about 725, and dp_accounting 0.6 divides by a mass near the smallest float and answers infinity."""
    event = PoissonGaussian(noise_multiplier=z, rate=q)
    before, at, after = (epsilon([event] * (rounds + step), delta=1e-5).value or 0 for step in (-1, 0, 1))
    assert before < at < after
    assert at == pytest.approx((before + after) / 2, rel=0.02)


def test_noise_whose_square_vanishes_has_no_figure() -> None:
    event = PoissonGaussian(noise_multiplier=1e-200, rate=0.2)
    assert guaranteed([event], delta=1e-5).value is None
