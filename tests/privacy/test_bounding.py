"""What leaves a client as plain numbers, and what the receiver makes of honest, faulty and hostile ones."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from sordino.errors import PrivacyError
from sordino.layout import ParameterLayout
from sordino.privacy import ALLOCATIONS, Bounding, Measured, Parcel, Poisson, PrivacyPlan, Tracking, Update

LAYOUT = ParameterLayout.from_shapes([("encoder.a", "encoder", (3, 4)), ("decoder.b", "decoder", (2, 5))])


def plan_of(**options: object) -> PrivacyPlan:
    return PrivacyPlan(LAYOUT, Poisson(rate=0.5), 40, noise_multiplier=0.0, **options)  # type: ignore[arg-type]


AUTO = plan_of(allocation=ALLOCATIONS.get("auto")(), tracking=Tracking(quantile=0.3))


def update_of(norm: float, *, seed: int = 0) -> Update:
    values = torch.randn(LAYOUT.size, generator=torch.Generator().manual_seed(seed))
    return Update(values / values.norm() * norm)


def total_of(bounding: Bounding, *updates: Update) -> Parcel:
    total = bounding.empty_sum()
    for update in updates:
        total.add(bounding.clip(update))
    return bounding.pack(total)


@pytest.mark.parametrize("norm", [0.0, 1e-3, 100.0, math.nan])
def test_what_was_packed_arrives_as_it_was_clipped(norm: float) -> None:
    here = AUTO.bounding.clip(update_of(norm))
    there = AUTO.receive(AUTO.bounding.pack(here, measured=True))
    assert torch.equal(there.values, here.values)  # type: ignore[attr-defined]
    assert there.indicators.tolist() == here.indicators.tolist()  # type: ignore[attr-defined]
    assert (there.norms, there.watched_norms, there.finite) == (here.norms, here.watched_norms, here.finite)


def test_norms_leave_only_if_they_are_asked_for() -> None:
    parcel = AUTO.bounding.pack(AUTO.clip(update_of(5.0)))
    assert parcel.measured is None
    assert "not shown" in repr(parcel)


def test_a_site_sends_one_sum_that_is_bounded_by_its_number_of_clients() -> None:
    updates = [update_of(7.0, seed=seed) for seed in range(3)]
    parcel = total_of(AUTO.bounding, *updates)
    there = AUTO.receive(parcel, clients=3)
    by_hand = sum(AUTO.clip(update).values for update in updates)  # type: ignore[attr-defined]
    assert torch.allclose(there.values, by_hand, atol=1e-6)  # type: ignore[attr-defined]
    assert there.indicators.sum() == pytest.approx(sum(3 * (1 - aim) for aim in AUTO.indicator_aims))  # type: ignore[attr-defined]

    alone = AUTO.receive(parcel)
    assert float(alone.values.norm()) <= 1  # type: ignore[attr-defined]
    huge = AUTO.receive(replace(parcel, values=torch.full((LAYOUT.size,), 1e9)), clients=3)
    assert 2.99 < float(huge.values.double().norm()) <= 3  # type: ignore[attr-defined]
    AUTO.empty_sum().add(huge)


def test_an_empty_site_sends_zeros() -> None:
    parcel = total_of(AUTO.bounding)
    assert not parcel.values.count_nonzero()
    assert not any(parcel.indicators)


def test_indicators_cannot_outweigh_their_client() -> None:
    aims = AUTO.indicator_aims
    for hostile, expected in ((1e9, [1 - aim for aim in aims]), (-1e9, [-aim for aim in aims])):
        parcel = Parcel(torch.zeros(LAYOUT.size), LAYOUT.digest, (hostile,) * len(aims))
        assert AUTO.receive(parcel).indicators.tolist() == pytest.approx(expected)  # type: ignore[attr-defined]
    lost = AUTO.receive(Parcel(torch.ones(LAYOUT.size), LAYOUT.digest, (math.nan,) * len(aims)))
    assert not lost.finite
    assert not lost.values.count_nonzero()  # type: ignore[attr-defined]
    assert not any(lost.indicators)  # type: ignore[attr-defined]


@pytest.mark.parametrize("norms", [(), (1.0,) * 9, (-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0)])
def test_norms_that_cannot_be_are_refused(norms: tuple[float, ...]) -> None:
    parcel = replace(AUTO.bounding.pack(AUTO.clip(update_of(1.0))), measured=Measured(norms, (), finite=True))
    with pytest.raises(PrivacyError, match="block norms"):
        AUTO.receive(parcel)


def test_only_what_this_round_bounded_is_packed() -> None:
    with pytest.raises(PrivacyError, match="other bounds"):
        AUTO.bounding.pack(plan_of().clip(update_of(1.0)))
    total = AUTO.empty_sum()
    AUTO.bounding.pack(total)
    with pytest.raises(PrivacyError, match="released already"):
        AUTO.bounding.pack(total)
