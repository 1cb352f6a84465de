"""Inputs that broke other implementations, each standing for a kind; numbered as in the project's list of cases."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from sordino.layout import ParameterLayout
from sordino.privacy import (
    ALLOCATIONS,
    Ledger,
    NoiseSource,
    Poisson,
    PoissonGaussian,
    PrivacyPlan,
    Terms,
    Update,
    epsilon,
    guaranteed,
    noise_multiplier_for,
)

TERMS = Terms(unit="client", population=100, clients_per_speaker=1, delta=1e-5)
NAMES = ALLOCATIONS.names()


def two_groups(name: str, *, noise_multiplier: float = 1.0, size: int = 50) -> PrivacyPlan:
    layout = ParameterLayout.from_shapes([("encoder.a", "encoder", (size,)), ("decoder.b", "decoder", (size,))])
    return PrivacyPlan(
        layout, Poisson(1.0), 2, allocation=ALLOCATIONS.get(name)(), clip_norm=1.0, noise_multiplier=noise_multiplier
    )


def round_of(plan: PrivacyPlan, ledger: Ledger, number: int, *updates: torch.Tensor) -> torch.Tensor:
    total = plan.empty_sum()
    for values in updates:
        total.add(plan.clip(Update(values)))
    receipt = ledger.charge(plan.event(), round=number)
    return plan.release(total, receipt=receipt, noise=NoiseSource(), place=(number,)).values


@pytest.mark.parametrize("name", NAMES)
def test_case_1_groups_of_equal_shape_never_get_the_same_noise(name: str, tmp_path: Path) -> None:
    plan, size = two_groups(name, size=2000), 2000
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as ledger:
        draws = [round_of(plan, ledger, number) for number in (1, 2, 3)]
    parts = [part for draw in draws for part in (draw[:size], draw[size:])]
    correlations = torch.corrcoef(torch.stack(parts).double()) - torch.eye(len(parts))
    assert float(correlations.abs().max()) < 5.5 / math.sqrt(size)
    assert len({float(value) for part in parts for value in part}) > 0.99 * len(parts) * size


@pytest.mark.parametrize("name", NAMES)
def test_case_2_an_unchanged_model_is_an_update_like_any_other(name: str, tmp_path: Path) -> None:
    plan = two_groups(name, noise_multiplier=0.0)
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as ledger:
        mean = round_of(plan, ledger, 1, torch.zeros(100), torch.full((100,), 1e-3))
    assert mean.tolist() == pytest.approx([0.5e-3] * 100)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_case_3_a_poisoned_update_counts_as_zero_and_is_counted(name: str, poison: float, tmp_path: Path) -> None:
    plan = two_groups(name, noise_multiplier=0.0)
    bad = torch.full((100,), 500.0)
    bad[0] = poison
    good = torch.full((100,), 1e-3)
    assert [plan.clip(Update(values)).finite for values in (bad, good)] == [False, True]
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as ledger:
        mean = round_of(plan, ledger, 1, bad, good)
    assert mean.tolist() == pytest.approx([0.5e-3] * 100)


def test_case_5_one_reply_of_94_expected_is_no_less_noisy(tmp_path: Path) -> None:
    layout = ParameterLayout.from_shapes([("decoder.a", "decoder", (20_000,))])
    plan = PrivacyPlan(layout, Poisson(94 / 2338), 2338)
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as ledger:
        mean = round_of(plan, ledger, 1, torch.zeros(20_000))
    assert float(mean.double().std()) * 94 == pytest.approx(1.0, rel=0.03)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_case_6_half_precision_is_cast_once(dtype: torch.dtype, tmp_path: Path) -> None:
    plan = two_groups("flat", noise_multiplier=0.0)
    values = torch.linspace(-0.01, 0.01, 100, dtype=torch.float64).to(dtype)
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as ledger:
        mean = round_of(plan, ledger, 1, values)
    assert torch.equal(mean, values.float() / 2)


def test_case_8_a_round_that_nobody_joins_is_noise_and_is_charged(tmp_path: Path) -> None:
    cohort = Poisson(0.03)
    clients = tuple(str(index) for index in range(100))
    draws = [cohort.draw(clients, population=100, stream=NoiseSource().stream()) for _ in range(2000)]
    assert () in draws  # 4.8 % of rounds
    layout = ParameterLayout.from_shapes([("decoder.a", "decoder", (100,))])
    plan = PrivacyPlan(layout, cohort, 100)
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as ledger:
        mean = round_of(plan, ledger, 1)
        assert len(ledger.charges) == 1
    assert float(mean.std()) == pytest.approx(1 / 3, rel=0.5)


def test_case_9_calibrated_noise_never_ends_above_the_target() -> None:
    def event(z: float) -> PoissonGaussian:
        return PoissonGaussian(noise_multiplier=z, rate=94 / 2338)

    z = noise_multiplier_for(8.0, event=event, rounds=100, delta=1e-5)
    spent = guaranteed([event(z)] * 100, delta=1e-5).value
    assert spent is not None
    assert 8.0 * 0.995 <= spent <= 8.0


def test_case_11_epsilon_is_a_pure_function(tmp_path: Path) -> None:
    event = PoissonGaussian(noise_multiplier=1.5, rate=0.3)
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as ledger:
        for number in range(3):
            ledger.charge(event, round=number)
        answers = {epsilon(ledger.events, delta=1e-5, accountant="pld").value for _ in range(3)}
    assert len(answers) == 1


@pytest.mark.parametrize("name", NAMES)
def test_case_12_tensors_are_bounded_together_and_before_the_average(name: str, tmp_path: Path) -> None:
    layout = ParameterLayout.from_shapes([("encoder.a", "encoder", (1,)), ("decoder.b", "decoder", (1,))])
    plan = PrivacyPlan(layout, Poisson(1.0), 2, allocation=ALLOCATIONS.get(name)(), noise_multiplier=0.0)
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as ledger:
        mean = round_of(plan, ledger, 1, torch.tensor([3.0, 4.0]), torch.tensor([-3.0, -4.0]))
        assert mean.abs().max() < 1e-6, "two opposite clients cancel whatever their size"
        mean = round_of(plan, ledger, 2, torch.tensor([3.0, 4.0]), torch.zeros(2))
    assert float(mean.double().norm()) == pytest.approx(0.5, rel=1e-6)
    if name == "flat":
        assert mean.tolist() == pytest.approx([0.3, 0.4], rel=1e-6)
