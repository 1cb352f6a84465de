"""Noise in shares: the whole has one size however many came, and what came has enough of its own."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import ConfigError, PrivacyError
from sordino.layout import ParameterLayout
from sordino.privacy import (
    FixedSize,
    Ledger,
    NoiseShares,
    NoiseSource,
    Parcel,
    Poisson,
    PrivacyOptions,
    PrivacyPlan,
    Terms,
    Tracking,
    Update,
    make_terms,
)
from sordino.privacy.allocations.auto import Auto
from sordino.privacy.allocations.flat import Flat
from sordino.privacy.sharing import Sharing

WIDE = ParameterLayout.from_shapes([("encoder.weight", "encoder", (10_000,)), ("decoder.weight", "decoder", (30_000,))])
TERMS = Terms(unit="client", population=10, clients_per_speaker=1, delta=1e-5)
C, Z = 2.0, 1.5
FRESH = NoiseSource()


def plan_of(*, parties: int = 4, tolerated: int = 1, **options: object) -> PrivacyPlan:
    shares = NoiseShares(parties=parties, tolerated=tolerated)
    plan = PrivacyPlan(
        WIDE, FixedSize(size=parties), 10, allocation=Flat(), clip_norm=C, noise_multiplier=Z, shares=shares
    )
    return replace(plan, **options)  # type: ignore[arg-type]


def sharing_of(plan: PrivacyPlan) -> Sharing:
    sharing = plan.sharing(FRESH)
    assert sharing is not None
    return sharing


@given(st.integers(1, 50), st.integers(0, 49), st.floats(0.01, 100))
def test_the_variance_of_the_whole_does_not_depend_on_who_came(parties: int, tolerated: int, std: float) -> None:
    shares = NoiseShares(parties=parties, tolerated=tolerated % parties)
    (one,) = shares.one([std])
    for answered in range(parties + 1):
        (missing,), (total,) = shares.missing([std], answered=answered), shares.total([std], answered=answered)
        assert missing**2 + answered * one**2 == pytest.approx(total**2)
        assert total == pytest.approx(std * math.sqrt(parties / (parties - shares.tolerated)))
        if answered >= parties - shares.tolerated:
            assert answered * one**2 >= std**2 * (1 - 1e-9)
    assert shares.missing([std], answered=parties + 3) == (0.0,)


@pytest.mark.parametrize("answered", [0, 1, 3, 4])
def test_what_is_released_carries_that_noise(answered: int, tmp_path: Path) -> None:
    plan = plan_of()
    total, sharing = plan.empty_sum(), sharing_of(plan)
    for index in range(answered):
        total.add(sharing.release(plan.clip(Update(torch.zeros(WIDE.size))), place=(index,)))
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as ledger:
        receipt = ledger.charge(plan.event(), round=1)
        mean = plan.release(total, receipt=receipt, noise=FRESH, place=(1,), answered=answered)
    expected = Z * C * math.sqrt(4 / 3) / plan.expected_cohort
    assert float(mean.values.std()) == pytest.approx(expected, rel=0.02)
    assert mean.norms.noise_std == pytest.approx((expected,))


def test_without_a_word_from_anybody_the_server_adds_all_of_it() -> None:
    plan = plan_of(tolerated=0)
    assert plan.missing_stds(0) == pytest.approx(plan.noise_stds)
    assert plan_of(shares=None).missing_stds(3) == plan_of(shares=None).noise_stds


def test_enough_parties_bring_the_whole_noise_by_themselves() -> None:
    plan = plan_of()
    total, sharing = plan.empty_sum(), sharing_of(plan)
    for index in range(3):
        total.add(sharing.alone(place=(index,)))
    assert float(plan.bounding.pack(total).values.std()) == pytest.approx(Z * C, rel=0.02)


def test_a_share_goes_on_top_of_the_clipped_update() -> None:
    plan = plan_of()
    update = plan.clip(Update(torch.full((WIDE.size,), 3.0)))
    parcel = plan.bounding.pack(sharing_of(plan).release(update, place=(0,)))
    assert float(parcel.values.mean()) == pytest.approx(
        C / math.sqrt(WIDE.size), abs=4 * Z * C / math.sqrt(3 * WIDE.size)
    )
    assert float(parcel.values.std()) == pytest.approx(Z * C / math.sqrt(3), rel=0.02)


def test_what_arrives_is_not_clipped_to_less_than_its_noise() -> None:
    plan = plan_of()
    values = 5 * torch.randn(WIDE.size, generator=torch.Generator().manual_seed(0))
    arrived = plan.bounding.pack(sharing_of(plan).receive(Parcel(values, plan.clipper.digest)))
    assert torch.equal(arrived.values, values)


def test_what_brings_no_share_is_no_answer() -> None:
    sharing = sharing_of(plan_of())
    with pytest.raises(PrivacyError, match="brings no share"):
        sharing.receive(Parcel(torch.full((WIDE.size,), torch.nan), sharing.bounding.clipper.digest))
    with pytest.raises(PrivacyError, match="for layout other arrived: expected 40000"):
        sharing.receive(Parcel(torch.zeros(WIDE.size), "other"))
    other = plan_of(clip_norm=1.0).clip(Update(torch.zeros(WIDE.size)))
    with pytest.raises(PrivacyError, match="clipped to other bounds"):
        sharing.release(other, place=(0,))


def test_parties_are_not_drawn_by_chance() -> None:
    """The size of the noise would tell how many were drawn, which sampling is to hide."""
    with pytest.raises(ConfigError, match="a round asks a number drawn by chance: expected the same number"):
        plan_of(cohort=Poisson(rate=0.4)).sharing(FRESH)
    with pytest.raises(ConfigError, match="parties = 4, but a round asks 3"):
        plan_of(cohort=FixedSize(size=3)).sharing(FRESH)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanism": "none"}, 'mechanism = "none"'),
        ({"noised_by": "clients"}, 'noised_by = "clients"'),
        ({"tracking": Tracking()}, "the counts that those read"),
        ({"allocation": Auto()}, "allocation 'auto'"),
    ],
)
def test_what_cannot_be_shared_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PrivacyOptions(noise_multiplier=1.0, shares=NoiseShares(parties=2), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("parties", "tolerated"), [(0, 0), (3, 3), (3, -1)])
def test_somebody_has_to_bring_the_noise(parties: int, tolerated: int) -> None:
    with pytest.raises(ConfigError, match=r"privacy\.shares\."):
        NoiseShares(parties=parties, tolerated=tolerated)


def test_the_statement_says_what_the_server_sees() -> None:
    options = PrivacyOptions(noise_multiplier=1.0, population=10, shares=NoiseShares(parties=5, tolerated=1))
    terms = make_terms(options, population=10, clients_per_speaker=1, seeded=False)
    assert terms.caveats == (
        "what the server itself sees of each of the 5 parties, which carries 0.5 of the standard deviation of the noise",
    )
