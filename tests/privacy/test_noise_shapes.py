"""Whatever the shape of the noise and however a plan adapts, a round costs the one multiplier that the ledger is charged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import ConfigError, PrivacyError
from sordino.layout import ParameterLayout
from sordino.privacy import (
    ALLOCATIONS,
    ClipBounds,
    Ledger,
    NoiseSource,
    Parcel,
    Poisson,
    PrivacyPlan,
    Released,
    Terms,
    Tracking,
    Update,
)
from sordino.privacy.allocations.dim import Dim
from sordino.privacy.allocations.flat import Flat
from sordino.privacy.allocations.pooled import Pooled
from sordino.privacy.allocations.uniform import Uniform
from sordino.privacy.indicators import NOISE_RATIO, indicator_std, sensitivity, update_multiplier
from sordino.privacy.noise_shapes import NOISE_SHAPES
from sordino.seeds import Seeds

LAYOUT = ParameterLayout.from_shapes(
    [("encoder.a", "encoder", (30,)), ("connector.b", "connector", (600,)), ("decoder.c", "decoder", (90,))]
)
SHAPES = sorted(NOISE_SHAPES)


def plan_of(**options: Any) -> PrivacyPlan:
    defaults: dict[str, Any] = {"clip_norm": 2.0, "noise_multiplier": 0.7}
    return PrivacyPlan(LAYOUT, Poisson(0.5), 40, **{**defaults, **options})


def power(bounds: ClipBounds, stds: Sequence[float]) -> float:
    return math.fsum(block.size * std**2 for block, std in zip(bounds.blocks, stds, strict=True))


@st.composite
def bounds(draw: st.DrawFn) -> ClipBounds:
    sizes = draw(st.lists(st.integers(1, 10_000), min_size=1, max_size=8))
    layout = ParameterLayout.from_shapes((f"t{i}", "encoder", (size,)) for i, size in enumerate(sizes))
    norms = draw(st.lists(st.floats(1e-3, 1e3), min_size=len(sizes), max_size=len(sizes)))
    return ClipBounds(layout.groups, tuple(norms))


# --- the guarantee -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tracking", [None, Tracking()])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ALLOCATIONS.names())
def test_a_round_costs_z_whatever_it_releases(name: str, shape: Any, tracking: Tracking | None) -> None:
    plan = plan_of(allocation=ALLOCATIONS.get(name)(), noise_shape=shape, tracking=tracking)
    of_update = math.fsum((norm / std) ** 2 for norm, std in zip(plan.bounds.norms, plan.noise_stds, strict=True))
    count = len(plan.indicator_aims)
    of_indicators = count / 4 / indicator_std(0.7, aims=plan.indicator_aims) ** 2 if count else 0.0
    assert (of_update + of_indicators) ** -0.5 == pytest.approx(0.7, rel=1e-12)
    assert plan.event().noise_multiplier == 0.7
    assert count == (3 if name == "auto" else 0) + (tracking is not None)


@given(bounds=bounds(), z=st.floats(1e-2, 10.0))
def test_every_shape_keeps_the_constraint(bounds: ClipBounds, z: float) -> None:
    for shape in SHAPES:
        stds = NOISE_SHAPES[shape](bounds, z)
        assert math.fsum((c / s) ** 2 for c, s in zip(bounds.norms, stds, strict=True)) == pytest.approx(z**-2)


# --- the component-aware shape -----------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(bounds=bounds(), seed=st.integers(0, 2**32))
def test_no_feasible_noise_has_less_power(bounds: ClipBounds, seed: int) -> None:
    best = power(bounds, NOISE_SHAPES["component-aware"](bounds, 1.0))
    by_formula = math.fsum(c * math.sqrt(b.size) for b, c in zip(bounds.blocks, bounds.norms, strict=True)) ** 2
    assert best == pytest.approx(by_formula)
    assert best <= power(bounds, NOISE_SHAPES["isotropic"](bounds, 1.0)) * (1 + 1e-9)
    rng = np.random.default_rng(seed)
    for spread in (1e-3, 0.1, 1.0, 3.0):
        for start in SHAPES:
            stds = np.array(NOISE_SHAPES[start](bounds, 1.0)) * np.exp(spread * rng.standard_normal(len(bounds.norms)))
            feasible = stds * math.sqrt(math.fsum((np.array(bounds.norms) / stds) ** 2))  # scaled onto the constraint
            assert power(bounds, feasible) >= best * (1 - 1e-9)


def test_it_is_isotropic_where_bounds_go_by_size_or_all_is_one_block() -> None:
    for allocation in (Dim(), Flat()):
        shaped = plan_of(allocation=allocation, noise_shape="component-aware").noise_stds
        assert shaped == pytest.approx(plan_of(allocation=allocation).noise_stds)


def test_the_figures_at_alpha_five_percent() -> None:
    """Exact counts of Whisper-turbo and TinyLlama with an unstacked connector in the decoder's pool."""
    layout = ParameterLayout.from_shapes(
        [
            ("encoder", "encoder", (1_966_080,)),
            ("connector", "connector", (2_623_488,)),
            ("decoder", "decoder", (1_126_400,)),
        ]
    )
    plans = [
        PrivacyPlan(layout, Poisson(0.3), 316, allocation=Pooled(alpha=0.05), noise_multiplier=0.1, noise_shape=shape)
        for shape in ("isotropic", "component-aware")
    ]
    flat, shaped = (plan.noise_stds for plan in plans)
    assert [s / f for s, f in zip(shaped, flat, strict=True)] == pytest.approx([0.592, 1.053], abs=5e-4)
    saved = 1 - power(plans[1].bounds, shaped) / power(plans[0].bounds, flat)
    assert saved == pytest.approx(0.15, abs=5e-3)
    pools = plans[1].effective_multipliers()[1]
    assert sum(z**-2 for z in pools.values()) ** -0.5 == pytest.approx(0.1)


def test_the_noise_that_is_drawn_has_that_shape(tmp_path: Path) -> None:
    plan = plan_of(allocation=Uniform(), noise_shape="component-aware")
    drawn = torch.stack([release(plan, tmp_path, number, []).values for number in range(60)])
    for block, std in zip(plan.bounds.blocks, plan.noise_stds, strict=True):
        (start, stop) = block.slices[0]
        found = float(drawn[:, start:stop].std()) * plan.expected_cohort
        assert found == pytest.approx(std, rel=4 / math.sqrt(2 * 60 * block.size))


def test_a_rule_that_lets_blocks_exceed_their_bounds_is_refused() -> None:
    with pytest.raises(ConfigError, match="lets a block exceed its own bound"):
        plan_of(rule="normalise", noise_shape="component-aware")
    with pytest.raises(ConfigError, match="expected a finite clip norm"):
        plan_of(rule="normalise", clip_norm=math.inf, noise_multiplier=0.0)
    whole = plan_of(rule="normalise", allocation=Uniform()).effective_multipliers()[0]
    assert whole == pytest.approx({"encoder": 0.7, "connector": 0.7, "decoder": 0.7})


# --- indicators and tracking -------------------------------------------------------------------------------------------


def release(plan: PrivacyPlan, folder: Path, number: int, updates: Sequence[torch.Tensor]) -> Released:
    terms = Terms(unit="client", population=40, clients_per_speaker=1, delta=1e-5, seeded=True)
    total = plan.empty_sum()
    for values in updates:
        total.add(plan.clip(Update(values)))
    with Ledger(folder / "ledger.jsonl", terms=terms) as ledger:
        receipt = ledger.charge(plan.event(), round=number)
    return plan.release(total, receipt=receipt, noise=NoiseSource(Seeds(0)), place=(number,))


def of_norm(norm: float) -> torch.Tensor:
    return torch.full((LAYOUT.size,), norm / math.sqrt(LAYOUT.size))


def test_the_update_pays_half_a_percent_for_its_indicators() -> None:
    assert update_multiplier(1.0, count=4) == pytest.approx(1.00499, abs=1e-5)
    assert update_multiplier(1.0, count=0) == 1.0
    assert NOISE_RATIO == 10


def test_rates_are_fractions_of_the_expected_cohort(tmp_path: Path) -> None:
    plan = plan_of(allocation=ALLOCATIONS.get("auto")(), tracking=Tracking(), noise_multiplier=0.0)
    assert plan.expected_cohort == 20
    updates = [of_norm(1e-3)] * 14 + [of_norm(100.0)] * 6
    norms = release(plan, tmp_path, 1, updates).norms
    assert norms.clip_rate == pytest.approx((0.3, 0.3, 0.3))
    assert norms.over_rate == pytest.approx(0.3)
    poisoned = release(plan, tmp_path, 2, [*updates[1:], of_norm(math.nan)]).norms
    assert poisoned.over_rate == pytest.approx(0.3), "counts as zero, which is not clipped"
    plain = release(plan_of(), tmp_path, 3, updates).norms
    assert plain.clip_rate == ()
    assert plain.over_rate is None


def test_the_noise_on_a_rate_is_what_was_accounted(tmp_path: Path) -> None:
    plan = plan_of(tracking=Tracking(), noise_multiplier=0.5)
    seen = [release(plan, tmp_path, number, []).norms.over_rate for number in range(400)]
    std = indicator_std(0.5, aims=plan.indicator_aims) / plan.expected_cohort
    rates = np.array(seen, np.float64)
    assert rates.mean() == pytest.approx(0.5, abs=4 * std / 20)
    assert rates.std() == pytest.approx(std, rel=4 / math.sqrt(800))


@pytest.mark.parametrize("start", [0.01, 50.0])
@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.8])
def test_the_clip_norm_moves_to_its_quantile(start: float, quantile: float, tmp_path: Path) -> None:
    plan = plan_of(clip_norm=start, noise_multiplier=0.2, tracking=Tracking(quantile=quantile, eta=0.5))
    updates = [of_norm(norm) for norm in np.linspace(0.5, 1.5, 20)]
    for number in range(60):
        plan = plan.after(release(plan, tmp_path, number, updates).norms)
    assert plan.clip_norm == pytest.approx(0.5 + quantile, abs=0.25)
    assert plan.noise_stds[0] == pytest.approx(update_multiplier(0.2, count=1) * plan.clip_norm)
    assert plan_of(tracking=Tracking()).resumed(plan.learned).clip_norm == plan.clip_norm
    assert plan_of().resumed(plan_of().learned).clip_norm == 2.0


@pytest.mark.parametrize("quantile", [0.2, 0.8])
def test_clients_who_do_not_answer_pull_the_clip_norm_no_way(quantile: float, tmp_path: Path) -> None:
    """Half of the 20 expected come: counted from one half, no clip norm would be large, or small, enough."""
    plan = plan_of(noise_multiplier=0.05, clip_norm=1.0, tracking=Tracking(quantile=quantile, eta=0.5))
    updates = [of_norm(norm) for norm in np.linspace(0.5, 1.5, 10)]
    for number in range(100):
        plan = plan.after(release(plan, tmp_path, number, updates).norms)
    assert plan.clip_norm == pytest.approx(0.5 + quantile, abs=0.25)
    nobody = plan_of(noise_multiplier=0.0, tracking=Tracking(quantile=quantile))
    assert nobody.after(release(nobody, tmp_path, 100, []).norms).clip_norm == pytest.approx(nobody.clip_norm)


def test_a_component_that_nobody_trains_keeps_its_demand(tmp_path: Path) -> None:
    plan = plan_of(allocation=ALLOCATIONS.get("auto")(quantile=0.9), noise_multiplier=0.0)
    assert plan.after(release(plan, tmp_path, 1, []).norms).bounds == plan.bounds


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("norm", [1e-3, 100.0, math.nan])
def test_one_client_moves_the_indicators_by_what_the_noise_is_made_for(quantile: float, norm: float) -> None:
    plan = plan_of(allocation=ALLOCATIONS.get("auto")(quantile=quantile), tracking=Tracking(quantile=1 - quantile))
    update = plan.clip(Update(of_norm(norm)))
    moved = math.hypot(*update.indicators)  # type: ignore[attr-defined]
    assert moved <= sensitivity(plan.indicator_aims) * (1 + 1e-12)
    of_update = math.fsum((c / std) ** 2 for c, std in zip(plan.bounds.norms, plan.noise_stds, strict=True))
    of_indicators = (sensitivity(plan.indicator_aims) / indicator_std(0.7, aims=plan.indicator_aims)) ** 2
    assert (of_update + of_indicators) ** -0.5 == pytest.approx(0.7, rel=1e-12)


def test_the_clip_norm_does_not_follow_what_is_never_sent(tmp_path: Path) -> None:
    plan = plan_of(allocation=Pooled(alpha=0.0), tracking=Tracking(), noise_multiplier=0.0)
    values = torch.zeros(LAYOUT.size)
    values[:30] = 100.0  # the encoder, whose bound is 0
    assert release(plan, tmp_path, 1, [values] * 20).norms.over_rate == pytest.approx(0.0)


def test_what_comes_over_a_wire_brings_its_indicators(tmp_path: Path) -> None:
    """A clipped update is never longer than its bound, so its indicators cannot be read off it."""
    plan = plan_of(tracking=Tracking(), noise_multiplier=0.0)
    sent = plan.bounding.pack(plan.clip(Update(of_norm(100.0))))
    with pytest.raises(PrivacyError, match="0 clip indicators arrived: expected 1"):
        plan.receive(Parcel(sent.values, LAYOUT.digest))
    total = plan.empty_sum()
    for _ in range(20):
        total.add(plan.receive(sent))
    terms = Terms(unit="client", population=40, clients_per_speaker=1, delta=1e-5, seeded=True)
    with Ledger(tmp_path / "ledger.jsonl", terms=terms) as ledger:
        receipt = ledger.charge(plan.event(), round=1)
    released = plan.release(total, receipt=receipt, noise=NoiseSource(Seeds(0)), place=(1,))
    assert released.norms.over_rate == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"quantile": 1.0}, "quantile = 1"), ({"eta": 0.0}, "eta = 0"), ({"eta": 2000.0}, "eta = 2000")],
)
def test_bad_tracking_is_named(options: dict[str, float], named: str) -> None:
    with pytest.raises(ConfigError, match=f"privacy.tracking.{named}"):
        Tracking(**options)
