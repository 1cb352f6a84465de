"""Who is drawn how often: the amplification that accounting grants rests on it."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from scipy import stats

from sordino.errors import ConfigError
from sordino.privacy import COHORTS, FixedSize, FixedSizeGaussian, NoiseSource, Poisson, PoissonGaussian
from sordino.seeds import Seeds

CLIENTS = tuple(f"c{index}" for index in range(20))


def draws(
    sampler: Poisson | FixedSize, rounds: int, clients: tuple[str, ...], population: int
) -> list[tuple[str, ...]]:
    noise = NoiseSource(Seeds(3))
    return [
        sampler.draw(clients, population=population, stream=noise.stream("cohort", number)) for number in range(rounds)
    ]


def test_poisson_draws_each_client_at_the_rate_and_independently() -> None:
    rounds, rate = 4000, 0.3
    cohorts = draws(Poisson(rate), rounds, CLIENTS, 20)
    times = Counter(client for cohort in cohorts for client in cohort)
    for client in CLIENTS:
        assert abs(times[client] - rounds * rate) < 4.5 * math.sqrt(rounds * rate * (1 - rate))
    sizes = Counter(len(cohort) for cohort in cohorts)
    kinds = range(1, 12)
    expected = [float(stats.binom.pmf(size, 20, rate)) * rounds for size in kinds]
    assert (
        stats.chisquare(
            [*(sizes[size] for size in kinds), rounds - sum(sizes[size] for size in kinds)],
            [*expected, rounds - sum(expected)],
        ).pvalue
        > 0.01
    )
    both = sum({"c0", "c1"} <= set(cohort) for cohort in cohorts)
    assert abs(both - rounds * rate**2) < 4.5 * math.sqrt(rounds * rate**2)


def test_poisson_at_the_ends() -> None:
    stream = NoiseSource().stream
    assert Poisson(1.0).draw(CLIENTS, population=20, stream=stream()) == CLIENTS
    assert Poisson(1e-12).draw(CLIENTS, population=20, stream=stream()) == ()
    assert Poisson(0.5).draw((), population=20, stream=stream()) == ()


def test_fixed_size_is_exact_and_even() -> None:
    rounds = 4000
    cohorts = draws(FixedSize(6), rounds, CLIENTS, 20)
    assert {len(set(cohort)) for cohort in cohorts} == {6}
    times = Counter(client for cohort in cohorts for client in cohort)
    for client in CLIENTS:
        assert abs(times[client] - rounds * 0.3) < 4.5 * math.sqrt(rounds * 0.3 * 0.7)
    both = sum({"c0", "c1"} <= set(cohort) for cohort in cohorts)
    assert abs(both - rounds * 6 * 5 / (20 * 19)) < 4.5 * math.sqrt(rounds * 6 * 5 / (20 * 19))


def test_places_of_absent_clients_stay_empty_and_the_rate_stays() -> None:
    rounds = 4000
    cohorts = draws(FixedSize(10), rounds, CLIENTS[:8], 20)
    times = Counter(client for cohort in cohorts for client in cohort)
    for client in CLIENTS[:8]:
        assert abs(times[client] - rounds * 0.5) < 4.5 * math.sqrt(rounds * 0.25)
    sizes = Counter(len(cohort) for cohort in cohorts)
    expected = [float(stats.hypergeom.pmf(size, 20, 8, 10)) * rounds for size in range(9)]
    assert len(sizes) > 4
    assert all(abs(sizes[size] - expected[size]) < 4.5 * math.sqrt(expected[size] + 1) for size in range(9))


@pytest.mark.parametrize("sampler", [Poisson(0.5), FixedSize(5)])
def test_order_follows_the_clients_and_seeds_repeat(sampler: Poisson | FixedSize) -> None:
    cohorts = draws(sampler, 50, CLIENTS, 20)
    assert all(list(cohort) == sorted(cohort, key=CLIENTS.index) for cohort in cohorts)
    assert cohorts == draws(sampler, 50, CLIENTS, 20)
    assert len(set(cohorts)) > 40


def test_divisor_and_event() -> None:
    assert Poisson(0.3).expected(316) == pytest.approx(94.8)
    assert FixedSize(94).expected(2338) == 94
    assert Poisson(0.3).event(0.7, population=316) == PoissonGaussian(noise_multiplier=0.7, rate=0.3)
    fixed = FixedSize(94).event(0.7, population=2338)
    assert fixed == FixedSizeGaussian(noise_multiplier=0.7, size=94, population=2338)


@pytest.mark.parametrize("name", COHORTS.names())
def test_every_sampler_refuses_a_client_named_twice(name: str) -> None:
    sampler = COHORTS.get(name)()
    with pytest.raises(ConfigError, match="'c3' is named twice"):
        sampler.draw((*CLIENTS, "c3"), population=30, stream=NoiseSource().stream())


def test_a_fixed_cohort_needs_enough_places_and_no_client_beyond_them() -> None:
    stream = NoiseSource().stream()
    for attempt in (
        lambda: FixedSize(21).draw(CLIENTS, population=20, stream=stream),
        lambda: FixedSize(21).expected(20),
        lambda: FixedSize(21).event(1.0, population=20),
    ):
        with pytest.raises(ConfigError, match=r"federated\.cohort\.size = 21"):
            attempt()
    with pytest.raises(ConfigError, match=r"privacy\.population = 19"):
        FixedSize(5).draw(CLIENTS, population=19, stream=stream)


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        (Poisson, {"rate": 0.0}, "federated.cohort.rate = 0.0"),
        (Poisson, {"rate": 1.5}, "federated.cohort.rate = 1.5"),
        (Poisson, {"rate": math.nan}, "federated.cohort.rate = nan"),
        (FixedSize, {"size": 0}, "federated.cohort.size = 0"),
    ],
)
def test_bad_options_name_their_key(kind: type, options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        kind(**options)
    assert named in str(caught.value)
