"""One round through the only door: what is summed, what noise joins it, what it is divided by, and who pays."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from mypy import api as mypy_api

from sordino.errors import ConfigError, PrivacyError
from sordino.layout import ParameterLayout
from sordino.privacy import (
    FixedSize,
    Learned,
    Ledger,
    NoiseSource,
    NonPrivate,
    Parcel,
    PlainRelease,
    Plan,
    Poisson,
    PoissonGaussian,
    PrivacyPlan,
    Receipt,
    ReleasedNorms,
    Terms,
    Update,
)
from sordino.privacy.allocations.dim import Dim
from sordino.privacy.allocations.ema import DimEma
from sordino.privacy.allocations.flat import Flat
from sordino.privacy.allocations.split import AlphaSplit
from sordino.privacy.allocations.uniform import Uniform
from sordino.seeds import Seeds

LAYOUT = ParameterLayout.from_shapes(
    [
        ("encoder.layers.0.q.lora_A.weight", "encoder", (2, 3)),
        ("encoder.layers.0.q.lora_B.weight", "encoder", (3, 2)),
        ("connector.weight", "connector", (4, 2)),
        ("decoder.layers.0.q.lora_A.weight", "decoder", (2, 5)),
    ]
)
TERMS = Terms(unit="client", population=100, clients_per_speaker=1, delta=1e-5)


def plan_of(**options: object) -> PrivacyPlan:
    defaults: dict[str, object] = {"allocation": Flat(), "clip_norm": 1.0, "noise_multiplier": 1.0}
    return PrivacyPlan(LAYOUT, Poisson(0.94), 100, **{**defaults, **options})  # type: ignore[arg-type]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as book:
        yield book  # type: ignore[misc]


def released(plan: Plan, ledger: Ledger, *updates: torch.Tensor) -> torch.Tensor:
    total = plan.empty_sum()
    for values in updates:
        total.add(plan.clip(Update(values)))
    receipt = ledger.charge(plan.event(), round=len(ledger.charges) + 1)
    return plan.release(total, receipt=receipt, noise=NoiseSource(), place=(1,)).values


# --- noise and divisor -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("came", [0, 1, 94, 200])
def test_noise_on_the_sum_is_z_c_and_the_divisor_q_k_whatever_came(came: int, ledger: Ledger) -> None:
    wide = ParameterLayout.from_shapes([("decoder.weight", "decoder", (40_000,))])
    plan = PrivacyPlan(wide, Poisson(0.94), 100, allocation=Flat(), clip_norm=2.0, noise_multiplier=1.5)
    one = torch.zeros(40_000)
    one[0] = 2.0
    mean = released(plan, ledger, *[one] * came)
    assert plan.expected_cohort == pytest.approx(94)
    assert mean.dtype == torch.float32
    assert float(mean[1:].double().std()) == pytest.approx(1.5 * 2.0 / 94, rel=0.02)  # 5 standard errors
    assert float(mean[0]) == pytest.approx(2.0 * came / 94, abs=6 * 3.0 / 94)


def test_the_noise_is_the_same_for_every_block_and_none_where_nothing_is_released() -> None:
    assert plan_of(allocation=Uniform(), clip_norm=3.0, noise_multiplier=0.5).noise_stds == (1.5,) * 4
    frozen = plan_of(allocation=AlphaSplit(alpha=0.0), clip_norm=3.0, noise_multiplier=0.5)
    assert frozen.noise_stds == (0.0, 0.0, 1.5, 1.5)


def test_without_noise_the_release_is_the_clipped_sum_over_the_divisor(ledger: Ledger) -> None:
    plan = plan_of(noise_multiplier=0.0)
    first, second = torch.zeros(LAYOUT.size), torch.zeros(LAYOUT.size)
    first[0], second[20] = 0.5, 4.0
    mean = released(plan, ledger, first, second)
    assert float(mean[0]) == pytest.approx(0.5 / 94)
    assert float(mean[20]) == pytest.approx(1.0 / 94, rel=1e-6)
    assert int(mean.count_nonzero()) == 2


def test_the_update_is_clipped_jointly_not_tensor_by_tensor(ledger: Ledger) -> None:
    layout = ParameterLayout.from_shapes([("a.weight", "decoder", (1,)), ("b.weight", "decoder", (1,))])
    for allocation in (Flat(), Uniform(), Dim()):
        plan = PrivacyPlan(layout, Poisson(1.0), 1, allocation=allocation, clip_norm=1.0, noise_multiplier=0.0)
        mean = released(plan, ledger, torch.tensor([3.0, 4.0]))
        assert float(mean.norm()) == pytest.approx(1.0, rel=1e-6)
        assert float(mean.norm()) <= 1.0


def test_every_coordinate_of_every_block_gets_noise_of_its_own(ledger: Ledger) -> None:
    mean = released(plan_of(allocation=Uniform()), ledger)
    assert len(set(mean.tolist())) == LAYOUT.size
    assert 0.0 not in mean.tolist()


def test_an_empty_cohort_still_costs_and_gives_noise_only(ledger: Ledger) -> None:
    mean = released(plan_of(), ledger)
    assert len(ledger.charges) == 1
    assert torch.isfinite(mean).all()
    assert 0 < float(mean.abs().max()) < 1


def test_a_frozen_pool_is_released_as_exact_zeros(ledger: Ledger) -> None:
    mean = released(plan_of(allocation=AlphaSplit(alpha=0.0)), ledger, torch.full((LAYOUT.size,), 5.0))
    assert mean[:12].count_nonzero() == 0
    assert mean[12:].count_nonzero() == LAYOUT.size - 12


def test_what_the_release_shows_of_each_block_matches_its_values(ledger: Ledger) -> None:
    plan = plan_of(allocation=Dim(), clip_norm=2.0)
    receipt = ledger.charge(plan.event(), round=1)
    result = plan.release(plan.empty_sum(), receipt=receipt, noise=NoiseSource(), place=(1,))
    for block, norm_squared, std, size in zip(
        plan.bounds.blocks, result.norms.norm_squared, result.norms.noise_std, result.norms.size, strict=True
    ):
        values = torch.cat([result.values[a:b] for a, b in block.slices])
        assert norm_squared == pytest.approx(float(values.double().square().sum()))
        assert std == pytest.approx(2.0 / 94)
        assert size == values.numel()


# --- what may be summed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        NonPrivate(LAYOUT, Poisson(0.94), 100),
        plan_of(clip_norm=100.0),
        plan_of(allocation=Dim()),
        PrivacyPlan(ParameterLayout.from_shapes([("x", "decoder", (LAYOUT.size,))]), Poisson(0.94), 100),
    ],
    ids=["no bound", "larger bound", "other blocks", "other layout"],
)
def test_an_update_clipped_under_other_bounds_is_refused(other: Plan) -> None:
    plan = plan_of(allocation=AlphaSplit(alpha=0.0))
    with pytest.raises(PrivacyError, match="other bounds"):
        plan.empty_sum().add(other.clip(Update(torch.ones(LAYOUT.size))))


def test_a_sum_under_other_bounds_is_refused_and_the_receipt_stays_good(ledger: Ledger) -> None:
    plan = plan_of()
    receipt = ledger.charge(plan.event(), round=1)
    with pytest.raises(PrivacyError, match="other bounds"):
        plan.release(plan_of(clip_norm=50.0).empty_sum(), receipt=receipt, noise=NoiseSource(), place=(1,))
    plan.release(plan.empty_sum(), receipt=receipt, noise=NoiseSource(), place=(1,))


def test_an_equal_plan_of_another_process_may_clip() -> None:
    plan = plan_of(allocation=AlphaSplit())
    remote = pickle.loads(pickle.dumps(plan))
    plan.empty_sum().add(remote.clip(Update(torch.ones(LAYOUT.size))))


def test_a_sum_is_released_once(ledger: Ledger) -> None:
    plan = plan_of()
    total = plan.empty_sum()
    plan.release(total, receipt=ledger.charge(plan.event(), round=1), noise=NoiseSource(), place=(1,))
    with pytest.raises(PrivacyError, match="released already"):
        total.add(plan.clip(Update(torch.ones(LAYOUT.size))))
    with pytest.raises(PrivacyError, match="released already"):
        plan.release(total, receipt=ledger.charge(plan.event(), round=2), noise=NoiseSource(), place=(2,))


def test_receive_checks_the_layout_and_clips_again() -> None:
    plan, digest = plan_of(noise_multiplier=0.0), LAYOUT.digest
    with pytest.raises(PrivacyError, match="expected " + digest):
        plan.receive(Parcel(torch.ones(LAYOUT.size), "feedfacefeedface"))
    with pytest.raises(PrivacyError, match="shape"):
        plan.receive(Parcel(torch.ones(LAYOUT.size + 1), digest))
    with pytest.raises(PrivacyError, match="floating-point"):
        plan.receive(Parcel(torch.ones(LAYOUT.size, dtype=torch.int64), digest))
    update = plan.receive(Parcel(torch.full((LAYOUT.size,), 1e6), digest))
    assert float(update.values.double().norm()) <= 1.0  # type: ignore[attr-defined]
    assert not plan.receive(Parcel(torch.full((LAYOUT.size,), math.nan), digest)).finite


# --- receipts ----------------------------------------------------------------------------------------------------------


def test_a_receipt_pays_once(ledger: Ledger) -> None:
    plan = plan_of()
    receipt = ledger.charge(plan.event(), round=1)
    plan.release(plan.empty_sum(), receipt=receipt, noise=NoiseSource(), place=(1,))
    with pytest.raises(PrivacyError, match="paid for a release already"):
        plan.release(plan.empty_sum(), receipt=receipt, noise=NoiseSource(), place=(2,))


def test_a_receipt_pays_for_its_own_event_only(ledger: Ledger) -> None:
    receipt = ledger.charge(plan_of(noise_multiplier=2.0).event(), round=1)
    plan = plan_of(noise_multiplier=1.0)
    with pytest.raises(PrivacyError, match="charge the plan's own event"):
        plan.release(plan.empty_sum(), receipt=receipt, noise=NoiseSource(), place=(1,))


def test_a_receipt_needs_a_ledger() -> None:
    with pytest.raises(PrivacyError, match="without a ledger"):
        Receipt(plan_of().event(), ledger=None)  # type: ignore[arg-type]


# --- edges of the parameters -------------------------------------------------------------------------------------------


def test_no_noise_means_none_whatever_the_clip_norm(ledger: Ledger) -> None:
    plan = plan_of(clip_norm=math.inf, noise_multiplier=0.0)
    assert plan.noise_stds == (0.0,)
    mean = released(plan, ledger, torch.full((LAYOUT.size,), 94e6))
    assert mean.tolist() == pytest.approx([1e6] * LAYOUT.size)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"clip_norm": math.inf, "noise_multiplier": 0.1}, "privacy.clip_norm = inf"),
        ({"clip_norm": 0.0}, "privacy.clip_norm = 0.0"),
        ({"clip_norm": -1.0}, "privacy.clip_norm = -1.0"),
        ({"clip_norm": -math.inf, "noise_multiplier": 0.0}, "privacy.clip_norm = -inf"),
        ({"clip_norm": math.nan}, "privacy.clip_norm = nan"),
        ({"noise_multiplier": -0.1}, "privacy.noise_multiplier = -0.1"),
        ({"noise_multiplier": math.inf}, "privacy.noise_multiplier = inf"),
    ],
)
def test_bad_parameters_are_named(options: dict[str, float], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan_of(**options)
    assert named in str(caught.value)


def test_a_plan_needs_a_population_and_something_to_train() -> None:
    with pytest.raises(ConfigError, match=r"privacy\.population = 0"):
        PrivacyPlan(LAYOUT, Poisson(0.5), 0)
    with pytest.raises(ConfigError, match="no trainable tensor"):
        PrivacyPlan(ParameterLayout(()), Poisson(0.5), 10)


def test_events_follow_the_cohort() -> None:
    assert plan_of(noise_multiplier=0.7).event() == PoissonGaussian(noise_multiplier=0.7, rate=0.94)
    fixed = PrivacyPlan(LAYOUT, FixedSize(8), 100, noise_multiplier=0.7)
    assert fixed.event().adjacency == "replace-one"
    assert fixed.expected_cohort == 8


# --- no privacy --------------------------------------------------------------------------------------------------------


def test_the_non_private_plan_averages_by_the_same_divisor(ledger: Ledger) -> None:
    plan = NonPrivate(LAYOUT, Poisson(0.94), 100)
    assert isinstance(plan.event(), PlainRelease)
    mean = released(plan, ledger, torch.full((LAYOUT.size,), 1e20), torch.full((LAYOUT.size,), math.nan))
    assert mean.tolist() == pytest.approx([1e20 / 94] * LAYOUT.size)
    assert plan.after(ReleasedNorms((1.0,), (0.0,), (1,))) is plan


# --- learning from releases --------------------------------------------------------------------------------------------


def test_a_plan_learns_and_can_be_taken_up_again() -> None:
    plan = plan_of(allocation=DimEma(warmup=0))
    seen = ReleasedNorms((100.0, 1.0, 1.0, 1.0), (0.0,) * 4, (6, 6, 8, 10))
    later = plan.after(seen)
    assert plan.learned == Learned()
    assert later.learned.allocation.rounds == 1
    assert later.bounds.norms[0] > plan.bounds.norms[0]
    assert later.bounds.total == pytest.approx(1.0)
    assert plan.resumed(later.learned).bounds == later.bounds
    assert later.event() == plan.event()


def test_raw_norms_are_flagged() -> None:
    assert plan_of(allocation=DimEma(ema_source="raw")).reads_raw_norms
    assert not plan_of(allocation=DimEma()).reads_raw_norms
    assert not NonPrivate(LAYOUT, Poisson(0.5), 10).reads_raw_norms


# --- effective multipliers ---------------------------------------------------------------------------------------------


def test_effective_multipliers_at_alpha_five_percent() -> None:
    plan = plan_of(allocation=AlphaSplit(alpha=0.05), noise_multiplier=0.1)
    component, pool = plan.effective_multipliers()
    assert pool == pytest.approx({"encoder": 0.1 / math.sqrt(0.05), "rest": 0.1 / math.sqrt(0.95)})
    assert pool["encoder"] == pytest.approx(0.4472, abs=1e-4)
    assert pool["rest"] == pytest.approx(0.1026, abs=1e-4)
    assert component["encoder"] == pytest.approx(pool["encoder"])
    shares = {"connector": 0.95 * 8 / 18, "decoder": 0.95 * 10 / 18}
    for name, share in shares.items():
        assert component[name] == pytest.approx(0.1 / math.sqrt(share))
    assert sum(z**-2 for z in pool.values()) ** -0.5 == pytest.approx(0.1)


def test_a_block_counts_wholly_for_each_component_it_touches() -> None:
    component, pool = plan_of(noise_multiplier=0.3).effective_multipliers()
    assert component == pytest.approx({"encoder": 0.3, "connector": 0.3, "decoder": 0.3})
    assert pool == pytest.approx({"all": 0.3})


def test_effective_multipliers_at_the_ends() -> None:
    frozen = plan_of(allocation=AlphaSplit(alpha=0.0)).effective_multipliers()[1]
    assert frozen["encoder"] == math.inf
    silent = plan_of(noise_multiplier=0.0).effective_multipliers()[0]
    assert set(silent.values()) == {0.0}


# --- types and text ----------------------------------------------------------------------------------------------------


def test_no_text_form_shows_values() -> None:
    secret = torch.full((LAYOUT.size,), 0.123456)
    plan = plan_of()
    total = plan.empty_sum()
    clipped = plan.clip(Update(secret))
    total.add(clipped)
    for thing in (Update(secret), clipped, total):
        assert "0.12" not in repr(thing) + str(thing)
    assert str(LAYOUT.size) in repr(Update(secret))


@pytest.mark.slow
def test_a_type_checker_refuses_anything_unreleased_where_a_release_is_taken(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "import torch\n"
        "from sordino.privacy import ClippedSum, ClippedUpdate, Released, Update\n"
        "def train(released: Released) -> torch.Tensor:\n"
        "    return released.values\n"
        "def wrong(update: Update, clipped: ClippedUpdate, total: ClippedSum) -> None:\n"
        "    train(update)\n"
        "    train(clipped)\n"
        "    train(total)\n"
        "    total.add(update)\n"
        "    ClippedSum()\n"
        "    Released()\n"
        "def right(released: Released, clipped: ClippedUpdate, total: ClippedSum) -> None:\n"
        "    train(released)\n"
        "    total.add(clipped)\n"
    )
    root = Path(__file__).resolve().parents[2]
    options = ["--config-file", str(root / "pyproject.toml"), "--cache-dir", str(root / ".mypy_cache")]
    text, _, code = mypy_api.run([*options, str(snippet)])
    lines = sorted({int(line.split(":")[1]) for line in text.splitlines() if ": error:" in line})
    assert code == 1, text
    assert lines == [6, 7, 8, 9, 10, 11], text


def test_plans_are_values() -> None:
    plan = plan_of()
    with pytest.raises(AttributeError):
        plan.noise_multiplier = 5.0  # type: ignore[misc]
    assert replace(plan, noise_multiplier=2.0).noise_stds == (2.0,)


def test_a_seeded_release_repeats_and_a_place_of_its_own_does_not(tmp_path: Path) -> None:
    plan, noise = plan_of(), NoiseSource(Seeds(7))
    with Ledger(tmp_path / "seeded.jsonl", terms=replace(TERMS, seeded=True)) as book:
        draws = [
            plan.release(
                plan.empty_sum(), receipt=book.charge(plan.event(), round=number), noise=noise, place=(place,)
            ).values
            for number, place in enumerate([1, 1, 2], start=1)
        ]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
