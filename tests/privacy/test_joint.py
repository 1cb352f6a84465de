"""Phases of a round are charged as one event, and that event is what they really compose to."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sordino.errors import PrivacyError
from sordino.privacy import (
    FixedSizeGaussian,
    GaussianRelease,
    Ledger,
    PlainRelease,
    PoissonGaussian,
    Terms,
    epsilon,
    make_statement,
)
from sordino.privacy.accounting import advantage
from sordino.privacy.events import GaussianEvent
from sordino.privacy.joint import client_event, joint

TERMS = Terms(unit="client", population=100, clients_per_speaker=1, delta=1e-5)


def test_one_phase_is_itself() -> None:
    event = PoissonGaussian(noise_multiplier=1.3, rate=0.2)
    assert joint([event]) is event


@pytest.mark.parametrize("k", [2, 3])
def test_equal_phases_with_root_k_times_the_noise_cost_one(k: int) -> None:
    together = joint([PoissonGaussian(noise_multiplier=1.1 * math.sqrt(k), rate=0.3)] * k)
    assert isinstance(together, PoissonGaussian)
    assert together.rate == 0.3
    assert together.noise_multiplier == pytest.approx(1.1, rel=1e-15)


def test_without_sampling_it_is_the_composition_that_the_accountant_finds() -> None:
    phases = [PoissonGaussian(noise_multiplier=z, rate=1.0) for z in (2.0, 3.0, 5.0)]
    apart = epsilon(phases, delta=1e-5).value
    together = epsilon([joint(phases)], delta=1e-5).value
    assert apart is not None
    assert together == pytest.approx(apart, rel=2e-3)


def test_one_draw_for_all_phases_costs_more_than_a_draw_for_each() -> None:
    """Whoever is drawn is in all phases: composing them as if each had been drawn anew would claim too little."""
    phases = [PoissonGaussian(noise_multiplier=1.0, rate=0.1)] * 3
    fresh, shared = epsilon(phases, delta=1e-5).value, epsilon([joint(phases)], delta=1e-5).value
    assert fresh is not None
    assert shared is not None
    assert shared > 1.2 * fresh


def test_uploads_that_are_seen_one_by_one_are_not_amplified() -> None:
    event = client_event(2.0)
    assert event == GaussianRelease(noise_multiplier=1.0, neighbours="replace-one", what=event.what)
    mixed = joint([PoissonGaussian(noise_multiplier=2.0, rate=0.01), event])
    assert isinstance(mixed, GaussianRelease)
    assert mixed.noise_multiplier == pytest.approx(1 / math.sqrt(2))
    assert joint([FixedSizeGaussian(noise_multiplier=2.0, size=3, population=10), event]) == mixed


def test_a_phase_without_noise_leaves_nothing() -> None:
    plain = PlainRelease(what="each client's own update")
    assert joint([PoissonGaussian(noise_multiplier=1.0, rate=0.1), plain, plain]) == plain
    assert joint(
        [PoissonGaussian(noise_multiplier=0.0, rate=0.1), PoissonGaussian(noise_multiplier=1.0, rate=0.1)]
    ) == (PoissonGaussian(noise_multiplier=0.0, rate=0.1))


def test_events_that_are_no_phases_of_one_round_are_refused() -> None:
    with pytest.raises(PrivacyError, match="cannot be the phases of one round"):
        joint([PoissonGaussian(noise_multiplier=1.0, rate=0.1), PoissonGaussian(noise_multiplier=1.0, rate=0.2)])
    with pytest.raises(PrivacyError, match="0 events"):
        joint([])


def test_a_receipt_is_divided_once_and_only_into_what_it_paid_for(tmp_path: Path) -> None:
    phases = [PoissonGaussian(noise_multiplier=z, rate=0.5) for z in (1.0, 2.0)]
    with Ledger(tmp_path / "ledger.jsonl", terms=TERMS) as ledger:
        paid = ledger.charge(joint(phases), round=1)
        first, second = paid.divide(phases)
        first.spend(phases[0], seeded=False)
        with pytest.raises(PrivacyError, match="the receipt is for"):
            second.spend(phases[0], seeded=False)
        with pytest.raises(PrivacyError, match="has paid for a release already"):
            paid.divide(phases)
        cheap = ledger.charge(joint(phases), round=2)
        with pytest.raises(PrivacyError, match="the receipt is for"):
            cheap.divide([PoissonGaussian(noise_multiplier=1.0, rate=0.5)] * 2)
        assert len(ledger.charges) == 2


@pytest.mark.parametrize(
    "summed",
    [PoissonGaussian(noise_multiplier=4.0, rate=0.3), FixedSizeGaussian(noise_multiplier=4.0, size=3, population=9)],
)
@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_rounds_of_both_kinds_are_composed_as_replacements(summed: GaussianEvent, accountant: str) -> None:
    """A sum beside single uploads, in another round: no less than the uploads alone, and what halving its z says."""
    uploads = [client_event(6.0)] * 2
    mixed = epsilon([summed, *uploads, summed], delta=1e-5, accountant=accountant).value
    halved = epsilon([client_event(4.0), *uploads, client_event(4.0)], delta=1e-5, accountant=accountant).value
    alone = epsilon(uploads, delta=1e-5, accountant=accountant).value
    assert mixed is not None
    assert alone is not None
    assert mixed == halved > alone
    assert advantage([summed, *uploads]) == advantage([client_event(4.0), *uploads])
    words = make_statement(TERMS, [summed, *uploads]).words
    assert "with one client's recordings replaced by another's" in words
    assert "and everybody's models made of it; sums of what clients sent, noised by the server." in words


def test_only_uploads_that_clients_noised_make_a_sum_a_replacement() -> None:
    other = GaussianRelease(noise_multiplier=4.0, neighbours="one person more", what="a model")
    assert epsilon([PoissonGaussian(noise_multiplier=4.0, rate=0.3), other], delta=1e-5).value is None
