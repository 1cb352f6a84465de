"""Privacy of single recordings: what a step costs, who pays for it, and what its noise hides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino.errors import BudgetExhausted, ConfigError, PrivacyError
from sordino.layout import ParameterLayout
from sordino.privacy import Ledger, NoiseSource, PoissonGaussian, guaranteed, make_statement, read_ledger
from sordino.privacy.parallel import ParallelReceipts
from sordino.privacy.recordings import RecordingPrivacy

LAYOUT = ParameterLayout.from_shapes([("a", "a", (3,)), ("b", "b", (2,))])


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    options = RecordingPrivacy(noise_multiplier=1.0)
    with Ledger(tmp_path / "ledger.jsonl", terms=options.terms(recordings=50, seeded=False)) as opened:
        yield opened


def test_the_party_that_releases_most_decides_what_is_charged(ledger: Ledger) -> None:
    event = RecordingPrivacy(noise_multiplier=1.0).event(1.0)
    receipts = ParallelReceipts(ledger, event)
    for party, charged in [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 3), ("b", 3), ("b", 4), ("c", 4)]:
        receipts.receipt(party).spend(event, seeded=False)
        assert len(read_ledger(ledger.path)[1]) == charged, "a charge is on disk before its release"
    assert [charge.round for charge in ledger.charges] == [1, 2, 3, 4]
    ParallelReceipts(ledger, event).receipt("a")
    assert len(ledger.charges) == 5, "another method starts anew, on the same recordings"


def test_a_receipt_is_good_for_one_release(ledger: Ledger) -> None:
    event = RecordingPrivacy(noise_multiplier=1.0).event(1.0)
    receipts = ParallelReceipts(ledger, event)
    receipts.receipt("a")
    receipt = receipts.receipt("b")
    receipt.spend(event, seeded=False)
    with pytest.raises(PrivacyError, match="paid for a release already"):
        receipt.spend(event, seeded=False)


def test_nobody_takes_a_step_beyond_the_budget(tmp_path: Path) -> None:
    options = RecordingPrivacy(epsilon=2.0, rate=0.5)
    z = options.multiplier(steps=3)
    terms = options.terms(recordings=50, seeded=False)
    with Ledger(tmp_path / "ledger.jsonl", terms=terms) as ledger:
        receipts = ParallelReceipts(ledger, options.event(z))
        for party in "ab":
            for _ in range(3):
                receipts.receipt(party)
        figure = guaranteed(ledger.events, delta=terms.delta).value
        assert figure is not None
        assert 1.9 < figure <= 2.0
        for party in "ab":
            with pytest.raises(BudgetExhausted):
                receipts.receipt(party)
        assert len(ledger.charges) == 3


def test_a_step_is_one_sampled_gaussian_whatever_is_trained() -> None:
    options = RecordingPrivacy(noise_multiplier=1.5, rate=0.3, clip_norm=0.7)
    plan = options.plan(LAYOUT, noise_multiplier=1.5, lot=8)
    assert plan.event() == options.event(1.5) == PoissonGaussian(noise_multiplier=1.5, rate=0.3)
    assert plan.clipper.bounds.norms == (0.7,)
    assert plan.noise_stds == pytest.approx((1.5 * 0.7,))
    assert plan.expected_cohort == pytest.approx(8, rel=0.03)
    assert options.steps_a_pass == math.ceil(1 / 0.3)
    assert RecordingPrivacy(noise_multiplier=1.0, rate=1.0).steps_a_pass == 1


def test_the_statement_is_about_recordings_and_says_that_nobody_is_hidden_as_a_whole() -> None:
    options = RecordingPrivacy(noise_multiplier=4.0)
    terms = options.terms(recordings=50, seeded=False, caveats=("this",))
    words = make_statement(terms, [options.event(4.0)] * 20).words
    assert "differential privacy for each recording: with one recording added or left out" in words
    assert "of the 20 steps" in words
    assert "Not covered: this. Not covered: how many recordings there are" in words
    assert "Not covered: a speaker as a whole" in words


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "expected one of them"),
        ({"epsilon": 1.0, "noise_multiplier": 1.0}, "expected one of them"),
        ({"epsilon": 0.0}, "recording_privacy.epsilon"),
        ({"noise_multiplier": 0.0}, "recording_privacy.noise_multiplier"),
        ({"epsilon": 1.0, "rate": 0.0}, "recording_privacy.rate"),
        ({"epsilon": 1.0, "clip_norm": math.inf}, "recording_privacy.clip_norm"),
        ({"epsilon": 1.0, "delta": 1.0}, "recording_privacy.delta"),
    ],
)
def test_mistakes_are_refused(table: dict[str, float], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RecordingPrivacy(**table)


def test_a_delta_that_permits_revealing_a_recording_is_refused() -> None:
    with pytest.raises(ConfigError, match="not below 1 / 100"):
        RecordingPrivacy(epsilon=1.0, delta=0.01).terms(recordings=100, seeded=False)


def test_noise_of_the_stated_kind_only(ledger: Ledger) -> None:
    options = RecordingPrivacy(noise_multiplier=1.0)
    receipts, plan = ParallelReceipts(ledger, options.event(1.0)), options.plan(LAYOUT, noise_multiplier=2.0, lot=4)
    with pytest.raises(PrivacyError, match="the receipt is for"):
        plan.release(plan.empty_sum(), receipt=receipts.receipt("a"), noise=NoiseSource(), place=("x",))
