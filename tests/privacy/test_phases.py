"""Plans of rounds in phases: what each phase gets of the noise, what the round costs, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from sordino.errors import BudgetExhausted, ConfigError, PrivacyError
from sordino.layout import ParameterLayout
from sordino.privacy import (
    ALLOCATIONS,
    FixedSize,
    GaussianRelease,
    Ledger,
    NoiseSource,
    NonPrivate,
    Phase,
    PhasedPlan,
    PlainRelease,
    Poisson,
    PoissonGaussian,
    PrivacyOptions,
    PrivacyPlan,
    Reads,
    Released,
    Terms,
    Tracking,
    Update,
    guaranteed,
    make_round_plan,
    make_statement,
    round_event,
)
from sordino.privacy.intake import open_intake
from sordino.privacy.phases import Charging
from sordino.seeds import Seeds

LAYOUT = ParameterLayout.from_shapes([("si.w", "si", (4,)), ("sd.w", "sd", (3, 2))])
SI, SD = (LAYOUT.select([name]) for name in ("si.w", "sd.w"))
SHARED, MIXED, EACH = Phase("shared", SI), Phase("personal", SD, Reads.MIX), Phase("personal", SD, Reads.EACH)
ASKED = Phase("embedding", ParameterLayout.from_shapes([("e", "e", (5,))]), Reads.EACH, 2.0, noised_by_clients=True)
TERMS = Terms(unit="client", population=40, clients_per_speaker=1, delta=1e-5)


def of(*phases: Phase, cohort: Any = None, terms: Terms = TERMS, rounds: int = 3, **privacy: Any) -> PhasedPlan:
    options = PrivacyOptions(**{"noise_multiplier": 1.0, "clip_norm": 0.5, **privacy})
    cohort = cohort or Poisson(rate=0.5)
    return make_round_plan(options, phases=phases, layout=LAYOUT, cohort=cohort, rounds=rounds, terms=terms)


@pytest.mark.parametrize("phases", [(SHARED,), (SHARED, MIXED), (SHARED, MIXED, MIXED)])
def test_a_round_costs_what_the_table_says_however_many_phases_it_has(phases: tuple[Phase, ...]) -> None:
    event = round_event(of(*phases))
    assert isinstance(event, PoissonGaussian)
    assert event.rate == 0.5
    assert event.noise_multiplier == pytest.approx(1.0, rel=1e-12)


def test_each_phase_has_its_own_layout_bound_and_share_of_the_noise() -> None:
    plan = of(SHARED, ASKED, MIXED)
    plans = [step.plan for step in plan.steps]
    assert [each.layout.size for each in plans] == [4, 5, 6]
    assert [each.clipper.bounds.total for each in plans] == pytest.approx([0.5, 2.0, 0.5])
    assert [step.noised_by for step in plan.steps] == ["server", "clients", "server"]
    assert all(isinstance(each, PrivacyPlan) and each.noise_multiplier == pytest.approx(3**0.5) for each in plans)
    assert plan.layout is LAYOUT


def test_a_phase_that_clients_noise_makes_the_whole_round_unamplified() -> None:
    event = round_event(of(SHARED, ASKED, MIXED))
    assert isinstance(event, GaussianRelease)
    assert event.noise_multiplier == pytest.approx(0.5)
    assert event.adjacency == "replace-one"
    assert round_event(of(SHARED, EACH, noised_by="clients")) == round_event(of(SHARED, MIXED, noised_by="clients"))


def test_a_budget_covers_the_rounds_whoever_adds_the_noise() -> None:
    for phases, privacy in (
        ((SHARED, MIXED), {}),
        ((SHARED, ASKED, MIXED), {}),
        ((SHARED, EACH), {"noised_by": "clients"}),
    ):
        plan = of(*phases, rounds=4, noise_multiplier=None, epsilon=6.0, **privacy)
        event = round_event(plan)
        assert event is not None
        spent = guaranteed([event] * 4, delta=1e-5).value
        assert spent is not None
        assert 5.5 < spent <= 6.0


def test_a_fixed_cohort_keeps_its_event() -> None:
    event = round_event(of(SHARED, MIXED, cohort=FixedSize(size=5)))
    assert event is not None
    assert event.kind == "fixed-size-gaussian"


def test_no_privacy_is_said_in_words() -> None:
    plan = of(SHARED, EACH, mechanism="none")
    assert all(isinstance(step.plan, NonPrivate) for step in plan.steps)
    event = round_event(plan)
    assert isinstance(event, PlainRelease)
    assert event.what == "the mean of the clients' updates; each client's own update"
    assert make_statement(TERMS, [event]).words.startswith("No privacy guarantee")


def test_the_statement_says_what_uploads_reveal_together() -> None:
    event = round_event(of(SHARED, EACH, noised_by="clients", noise_multiplier=8.0))
    assert event is not None
    words = make_statement(TERMS, [event] * 3).words
    assert "with one client's recordings replaced by another's" in words
    assert "seen together" in words


@pytest.mark.parametrize(
    "privacy",
    [{"tracking": Tracking()}, {"allocation": ALLOCATIONS.get("auto")(clip_rates=True)}]
    if "clip_rates" in getattr(ALLOCATIONS.get("auto"), "__dataclass_fields__", {})
    else [{"tracking": Tracking()}],
)
def test_what_learns_from_clip_rates_is_refused_where_they_are_not_released(privacy: dict[str, Any]) -> None:
    assert of(SHARED, **privacy)
    with pytest.raises(ConfigError, match="reads how many clients were clipped"):
        of(SHARED, MIXED, **privacy)
    with pytest.raises(ConfigError, match="reads how many clients were clipped"):
        of(SHARED, noised_by="clients", **privacy)


def intake(folder: Path, plan: PhasedPlan, *, budget: float | None = None) -> tuple[Ledger, Charging]:
    terms = Terms(unit="client", population=40, clients_per_speaker=1, delta=1e-5, seeded=True, budget=budget)
    ledger = Ledger(folder / "ledger.jsonl", terms=terms)
    return ledger, Charging(plan, ledger, round=1)


def test_clients_noise_is_paid_for_before_anybody_is_asked(tmp_path: Path) -> None:
    noise = NoiseSource(Seeds(0))
    for phase, paid_at_once in ((SHARED, 0), (EACH, 1)):
        folder = tmp_path / phase.name
        folder.mkdir()
        plan = of(phase, noised_by="clients" if paid_at_once else "server")
        ledger, charging = intake(folder, plan)
        with ledger:
            opened = open_intake(plan.steps[0], mixing=None, charging=charging, noise=noise, place=(1,))
            assert len(ledger.charges) == paid_at_once
            assert (opened.noising is not None) == bool(paid_at_once)
            opened.release()
            assert len(ledger.charges) == 1


def test_a_round_over_budget_is_not_begun(tmp_path: Path) -> None:
    ledger, charging = intake(tmp_path, of(SHARED, EACH, noised_by="clients"), budget=0.5)
    with ledger, pytest.raises(BudgetExhausted):
        charging.require()


def test_what_clients_send_has_noise_of_its_own_for_every_client_and_round(tmp_path: Path) -> None:
    plan = of(EACH, noised_by="clients", noise_multiplier=3.0)
    ledger, charging = intake(tmp_path, plan)
    with ledger:
        step = plan.steps[0]
        opened = open_intake(step, mixing=None, charging=charging, noise=NoiseSource(Seeds(0)), place=(1,))
        assert opened.noising is not None
        clipped = step.plan.clip(Update(torch.zeros(6)))
        sent = [opened.noising.release(clipped, place=(r, "c", i)).values for r in range(20) for i in range(20)]
    stacked = torch.stack(sent)
    assert float(stacked.std()) == pytest.approx(3.0 * 0.5, rel=0.06)
    assert len({tuple(row.tolist()) for row in stacked}) == 400


def test_nothing_unclipped_or_unnoised_is_taken_in(tmp_path: Path) -> None:
    plan = of(SHARED, EACH, noised_by="clients")
    ledger, charging = intake(tmp_path, plan)
    with ledger:
        noise = NoiseSource(Seeds(0))
        opened = open_intake(plan.steps[1], mixing=None, charging=_second(charging), noise=noise, place=(1,))
        with pytest.raises(PrivacyError, match="without noise of its own"):
            opened.add("a", plan.steps[1].plan.clip(Update(torch.ones(6))))
        assert opened.noising is not None
        with pytest.raises(PrivacyError, match="clipped to other bounds"):
            opened.noising.release(plan.steps[0].plan.clip(Update(torch.ones(4))), place=(1,))


def _second(charging: Charging) -> Charging:
    charging.receipt()
    return charging


def test_a_mean_of_noised_uploads_knows_how_noisy_it_is(tmp_path: Path) -> None:
    plan = of(SHARED, noised_by="clients")
    ledger, charging = intake(tmp_path, plan)
    with ledger:
        step = plan.steps[0]
        opened = open_intake(step, mixing=None, charging=charging, noise=NoiseSource(Seeds(0)), place=(1,))
        assert opened.noising is not None
        for client in "abcd":
            update = step.plan.clip(Update(torch.full((4,), 0.1)))
            opened.add(client, opened.noising.release(update, place=(1, client)))
        released = opened.release()
    assert released is not None
    assert not isinstance(released, dict)
    assert released.norms.noise_std == pytest.approx([2 * std / 20 for std in step.plan.noise_stds])  # type: ignore[union-attr]


def test_the_plan_of_each_phase_learns_from_its_own_release(tmp_path: Path) -> None:
    plan = of(SHARED, Phase("personal", SD), allocation=ALLOCATIONS.get("dim-ema")(), noise_multiplier=0.1)
    ledger, charging = intake(tmp_path, plan)
    norms = []
    with ledger:
        for step, size in zip(plan.steps, (4, 6), strict=True):
            opened = open_intake(step, mixing=None, charging=charging, noise=NoiseSource(Seeds(0)), place=(1,))
            opened.add("a", step.plan.clip(Update(torch.ones(size))))
            released = opened.release()
            assert isinstance(released, Released)
            norms.append(released.norms)
        assert len(ledger.charges) == 1
    after = plan.after_round([norms[0], None])
    assert [step.plan.learned.allocation.rounds for step in after.steps] == [1, 0]
    assert plan.resumed(after.learned).learned == after.learned
