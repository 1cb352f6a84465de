from __future__ import annotations

import pytest

from sordino.experiments import load_experiment
from sordino.experiments.planning import plan_report
from sordino.experiments.prospects import WORKABLE_NOISE, prospects_of
from sordino.experiments.sizing import cohort_rate


def test_the_default_job_is_the_measure() -> None:
    found = prospects_of(load_experiment(None))
    assert found.noise == pytest.approx(WORKABLE_NOISE, rel=0.01)
    assert found.good


def test_what_few_people_can_buy_is_what_the_accountant_says() -> None:
    few = ["privacy.population=8", "federated.cohort.rate=1"]
    found = prospects_of(load_experiment(None, few))
    assert not found.good
    enough = load_experiment(None, [*few, f"privacy.population={found.population_needed}"])
    assert prospects_of(enough).noise == pytest.approx(WORKABLE_NOISE, rel=0.1)
    z = WORKABLE_NOISE * 8 / 96_384**0.5
    quiet = plan_report(load_experiment(None, [*few, f"privacy.noise_multiplier={z}"]))["epsilon"]
    assert found.epsilon_workable == pytest.approx(min(quiet["pld"], quiet["rdp"]), rel=1e-3)
    assert found.epsilon_workable > 20
    assert f"about {found.population_needed:,} speakers" in found.words


@pytest.mark.parametrize(
    ("population", "rate"), [(1, 1.0), (100, 1.0), (101, 0.99), (316, 0.32), (10_000, 0.01), (123_456, 0.00081)]
)
def test_about_a_hundred_take_part_in_a_round(population: int, rate: float) -> None:
    assert cohort_rate(population) == rate
