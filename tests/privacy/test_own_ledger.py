"""A party's own ledger: it outlasts runs, charges first, waits for its turn, and holds its owner's limit."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from sordino.errors import BudgetExhausted, ConfigError, PrivacyError
from sordino.privacy import Ledger, Terms, guaranteed, read_ledger, statement_of_run
from sordino.privacy.own_ledger import Limit, OwnLedger, OwnReceipts
from sordino.privacy.recordings import RecordingPrivacy

OPTIONS = RecordingPrivacy(noise_multiplier=3.0, rate=0.5)
TERMS = OPTIONS.terms(recordings=12, seeded=False)
STEP, WEAKER = OPTIONS.event(3.0), OPTIONS.event(1.0)


def own(folder: Path, *, limit: Limit | None = None, **changes: object) -> OwnLedger:
    return OwnLedger(path=folder / "own.jsonl", terms=replace(TERMS, **changes), limit=limit)  # type: ignore[arg-type]


def test_a_charge_is_on_disk_before_its_receipt_and_the_file_goes_on_from_run_to_run(tmp_path: Path) -> None:
    receipts = OwnReceipts(own(tmp_path), STEP)
    for step in (1, 2):
        receipt = receipts.receipt("whoever")
        assert len(read_ledger(tmp_path / "own.jsonl")[1]) == step
        receipt.spend(STEP, seeded=False)
    later = own(tmp_path, population=15, delta=1e-6, caveats=("another",))
    OwnReceipts(later, WEAKER).receipt("whoever")
    terms, charges = read_ledger(tmp_path / "own.jsonl")
    assert terms == TERMS, "what a ledger was begun under stays"
    assert [(charge.round, charge.event) for charge in charges] == [(1, STEP), (2, STEP), (3, WEAKER)]
    assert statement_of_run(tmp_path / "own.jsonl").rounds == 3
    with pytest.raises(PrivacyError, match="begun under population"), Ledger(tmp_path / "own.jsonl", terms=later.terms):
        pass


def test_in_a_seeded_simulation_nothing_passes_for_a_replay(tmp_path: Path) -> None:
    for _ in range(2):
        OwnReceipts(own(tmp_path, seeded=True), STEP).receipt("c").spend(STEP, seeded=True)
    assert len(read_ledger(tmp_path / "own.jsonl")[1]) == 2


def test_nothing_is_released_beyond_the_limit_whatever_its_noise(tmp_path: Path) -> None:
    two = guaranteed([STEP, STEP], delta=1e-4).value
    assert two is not None
    ledger = own(tmp_path, limit=Limit(epsilon=two, delta=1e-4))
    ledger.charge(STEP)
    with pytest.raises(BudgetExhausted, match=r"epsilon to [\d.]+, above its limit of"):
        ledger.charge(WEAKER)
    ledger.charge(STEP)
    with pytest.raises(BudgetExhausted):
        ledger.charge(STEP)
    assert len(read_ledger(ledger.path)[1]) == 2
    replace(ledger, limit=Limit(epsilon=2 * two, delta=1e-4)).charge(STEP)


def test_who_charges_at_once_waits_and_both_are_charged(tmp_path: Path) -> None:
    ledger = own(tmp_path)
    with Ledger(ledger.path, terms=TERMS, lasting=True) as held:
        other = threading.Thread(target=ledger.charge, args=(STEP,))
        other.start()
        other.join(0.1)
        assert other.is_alive()
        held.charge(WEAKER, round=1)
    other.join(10)
    assert [charge.event for charge in read_ledger(ledger.path)[1]] == [WEAKER, STEP]


@pytest.mark.parametrize(
    "begun",
    [
        replace(TERMS, seeded=True),
        Terms(unit="speaker", population=12, clients_per_speaker=1, delta=1e-5),
    ],
)
def test_a_file_about_something_else_is_refused(begun: Terms, tmp_path: Path) -> None:
    with Ledger(tmp_path / "own.jsonl", terms=begun):
        pass
    with pytest.raises(PrivacyError, match=r"was begun under .*; name another file"):
        own(tmp_path).begin()


def test_a_file_that_cannot_be_written_is_told_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be written \(No such file or directory\)") as told:
        own(tmp_path / "absent").begin()
    assert "absent" not in str(told.value)


@pytest.mark.parametrize(("epsilon", "delta", "words"), [(0.0, 1e-5, "epsilon = 0.0"), (8.0, 1.0, "delta = 1.0")])
def test_a_limit_that_is_none_is_refused(epsilon: float, delta: float, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Limit(epsilon=epsilon, delta=delta)
