"""What is on disk when: the ledger may count too much, never too little."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sordino.errors import BudgetExhausted, PrivacyError
from sordino.privacy import (
    FixedSizeGaussian,
    GaussianRelease,
    Ledger,
    MetricRelease,
    NoiseSource,
    PlainRelease,
    PoissonGaussian,
    Terms,
    guaranteed,
    read_ledger,
)
from sordino.privacy.events import Event
from sordino.seeds import Seeds

TERMS = Terms(unit="client", population=100, clients_per_speaker=1, delta=1e-5)
EVENT = PoissonGaussian(noise_multiplier=1.0, rate=0.3)

FAULTS = {
    "charge.before-fsync:1": (0, 0),  # killed while writing the terms
    "charge.before-fsync:3": (1, 1),
    "charge.after-fsync:3": (1, 2),
    "release.before:2": (1, 2),
    "release.after:2": (1, 2),
}

# One interpreter that forks, since importing torch takes longer than all the rest.
RUN = """
import json, os, sys
from pathlib import Path
import torch
from sordino.layout import ParameterLayout
from sordino.privacy import Ledger, NoiseSource, Poisson, PrivacyPlan, Terms, Update, read_ledger

layout = ParameterLayout.from_shapes([("decoder.a", "decoder", (4,))])
plan = PrivacyPlan(layout, Poisson(0.3), 100)
terms = Terms(unit="client", population=100, clients_per_speaker=1, delta=1e-5)

def rounds(folder):
    with Ledger(folder / "ledger.jsonl", terms=terms) as ledger, (folder / "released").open("ab", buffering=0) as out:
        for number in range(1, 4):
            total = plan.empty_sum()
            total.add(plan.clip(Update(torch.ones(4))))
            receipt = ledger.charge(plan.event(), round=number)
            plan.release(total, receipt=receipt, noise=NoiseSource(), place=(number,))
            out.write(b"x")

def attempt(folder, fault):
    child = os.fork()
    if child == 0:
        os.environ["SORDINO_FAULT"] = fault
        rounds(folder)
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    content = (folder / "ledger.jsonl").read_bytes()
    charges = len(read_ledger(folder / "ledger.jsonl")[1]) if content else 0
    return [ended, len((folder / "released").read_bytes()) if (folder / "released").exists() else 0, charges]

results = {}
for number, fault in enumerate(sys.argv[2:]):
    folder = Path(sys.argv[1]) / str(number)
    folder.mkdir()
    results[fault] = [attempt(folder, fault), attempt(folder, "")]
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[int]]]:
    """For each fault: exit code, releases and charges after the kill, and again after running to the end."""
    command = [sys.executable, "-c", RUN, str(tmp_path_factory.mktemp("killed")), *FAULTS]
    done = subprocess.run(command, check=True, timeout=200, capture_output=True, text=True)
    results: dict[str, list[list[int]]] = json.loads(done.stdout)
    return results


@pytest.mark.parametrize("fault", FAULTS)
def test_a_killed_run_never_counts_less_than_it_released(fault: str, killed: dict[str, list[list[int]]]) -> None:
    released, charged = FAULTS[fault]
    assert killed[fault] == [[-signal.SIGKILL, released, charged], [0, released + 3, charged + 3]]
    assert charged >= released


# --- damage ------------------------------------------------------------------------------------------------------------


def written(path: Path, rounds: int, terms: Terms = TERMS) -> list[bytes]:
    with Ledger(path, terms=terms) as ledger:
        for number in range(1, rounds + 1):
            ledger.charge(EVENT, round=number)
    return path.read_bytes().splitlines(keepends=True)


def test_a_torn_last_line_was_never_paid_for_and_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    lines = written(path, 3)
    for cut in range(1, len(lines[-1])):
        path.write_bytes(b"".join(lines[:-1]) + lines[-1][:cut])
        assert len(read_ledger(path)[1]) == 2
    with Ledger(path, terms=TERMS) as ledger:
        assert len(ledger.charges) == 2
        ledger.charge(EVENT, round=3)
    assert [charge.round for charge in read_ledger(path)[1]] == [1, 2, 3]


@pytest.mark.parametrize(
    "damage",
    [
        b"not json\n",
        b'{"charge": 2}\n',
        b"[]\n",
        b"{}\n",
        b"\n",
        b'{"charge": 2, "round": 2, "event": {"kind": "poisson-gaussian", "noise_multiplier": 1.0}}\n',
        b'{"charge": 2, "round": 2, "event": {"kind": "poisson-gaussian", "noise_multiplier": -1, "rate": 0.3}}\n',
        b'{"charge": 2, "round": 2, "event": {"kind": "poisson-gaussian", "noise_multiplier": 1.0, "rate": 1.3}}\n',
        b'{"charge": 2, "round": 2, "event": {"kind": "poisson-gaussian", "noise_multiplier": NaN, "rate": 0.3}}\n',
        b'{"charge": 2, "round": 2, "event": {"kind": "fixed-size-gaussian", "noise_multiplier": 1.0, '
        b'"size": 0, "population": 5}}\n',
        b'{"charge": 2, "round": 2, "event": {"kind": "poison-gaussian", "noise_multiplier": 1.0, "rate": 0.3}}\n',
        b"\xff\xfe\n",
    ],
)
def test_a_damaged_middle_line_is_refused_with_its_number(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    lines = written(path, 3)
    content = lines[0] + lines[1] + damage + lines[3]
    path.write_bytes(content)
    for attempt in (lambda: read_ledger(path), lambda: Ledger(path, terms=TERMS)):
        with pytest.raises(PrivacyError, match="line 3"):
            attempt()
    assert path.read_bytes() == content


@pytest.mark.parametrize("first", [b"{}\n", b'{"ledger": 1, "terms": {"unit": "client"}}\n', b"null\n", b"half a li"])
def test_a_damaged_first_line_is_refused(first: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(first)
    with pytest.raises(PrivacyError, match="restore the file"):
        read_ledger(path)
    with pytest.raises(PrivacyError, match="restore the file"):
        Ledger(path, terms=TERMS)


def test_no_ledger_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(PrivacyError, match="name the folder of a run"):
        read_ledger(tmp_path / "ledger.jsonl")


# --- terms and writers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"delta": 1e-6}, "delta = 1e-05 (now 1e-06)"),
        (
            {"unit": "speaker", "clients_per_speaker": 4},
            "unit = 'client' (now 'speaker'), clients_per_speaker = 1 (now 4)",
        ),
        ({"population": 99}, "population = 100 (now 99)"),
        ({"budget": 8.0}, "budget = None (now 8.0)"),
        ({"seeded": True}, "seeded = False (now True)"),
        ({"caveats": ("debug",)}, "caveats = () (now ('debug',))"),
    ],
)
def test_other_terms_are_refused_with_the_difference(change: dict[str, object], named: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    content = b"".join(written(path, 1))
    with pytest.raises(PrivacyError) as caught:
        Ledger(path, terms=replace(TERMS, **change))  # type: ignore[arg-type]
    assert named in str(caught.value)
    assert path.read_bytes() == content
    Ledger(path, terms=TERMS).close()


def test_two_writers_are_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path, terms=TERMS) as first:
        first.charge(EVENT, round=1)
        with pytest.raises(PrivacyError, match="in use"):
            Ledger(path, terms=TERMS)
        assert len(read_ledger(path)[1]) == 1
        first.charge(EVENT, round=2)
    with Ledger(path, terms=TERMS) as second:
        assert len(second.charges) == 2


def test_a_ledger_begun_by_another_between_looking_and_locking_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.jsonl"
    real, begun = Path.open, []

    def open_after_another(self: Path, *arguments: str, **options: str) -> object:
        if self == path and not begun:
            begun.append(True)
            written(path, 1)
        return real(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", open_after_another)
    with Ledger(path, terms=TERMS) as ledger:
        ledger.charge(EVENT, round=2)
    assert [charge.round for charge in read_ledger(path)[1]] == [1, 2]


@pytest.mark.parametrize(
    "event",
    [
        EVENT,
        FixedSizeGaussian(noise_multiplier=0.1 + 0.2, size=8, population=100),
        GaussianRelease(noise_multiplier=0.7, neighbours="one or another", what="a mean"),
        MetricRelease(eta=3.0, metric="l1", what="an embedding"),
        PlainRelease(what='the "mean"\nof updates'),
    ],
)
def test_events_survive_the_file(event: Event, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    terms = replace(TERMS, caveats=("debug — telemetry",))
    with Ledger(path, terms=terms) as ledger:
        ledger.charge(event, round=5)
    assert read_ledger(path)[0] == terms
    assert [(charge.round, charge.event) for charge in read_ledger(path)[1]] == [(5, event)]
    assert all(json.loads(line) for line in path.read_text().splitlines())


# --- budget ------------------------------------------------------------------------------------------------------------


def test_the_budget_is_held_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    cost = [guaranteed([EVENT] * rounds, delta=1e-5).value for rounds in (2, 3)]
    assert cost[0] is not None
    with Ledger(path, terms=replace(TERMS, budget=cost[0])) as ledger:
        ledger.charge(EVENT, round=1)
        ledger.require(EVENT, round=2)
        ledger.charge(EVENT, round=2)
        before = path.read_bytes()
        for attempt in (ledger.require, ledger.charge):
            with pytest.raises(BudgetExhausted, match=f"epsilon to {cost[1]:.4g}"):
                attempt(EVENT, round=3)
        assert path.read_bytes() == before
        assert len(ledger.charges) == 2
        with pytest.raises(BudgetExhausted):
            ledger.charge(PlainRelease(what="a mean"), round=3)
        with pytest.raises(BudgetExhausted):
            ledger.charge(FixedSizeGaussian(noise_multiplier=100.0, size=1, population=100), round=3)
    assert BudgetExhausted.exit_code == 3


def test_the_budget_counts_earlier_processes_and_all_clients_of_a_speaker(tmp_path: Path) -> None:
    speaker = replace(TERMS, unit="speaker", clients_per_speaker=2)
    once = guaranteed([EVENT], delta=1e-5, multiplicity=2).value
    terms = replace(speaker, budget=once)
    with Ledger(tmp_path / "ledger.jsonl", terms=terms) as ledger:
        ledger.charge(EVENT, round=1)
    with Ledger(tmp_path / "ledger.jsonl", terms=terms) as ledger, pytest.raises(BudgetExhausted):
        ledger.charge(EVENT, round=2)


# --- replay ------------------------------------------------------------------------------------------------------------


def test_a_private_round_that_is_run_again_pays_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    written(path, 2)
    with Ledger(path, terms=TERMS) as ledger:
        ledger.charge(EVENT, round=2)
    assert [charge.round for charge in read_ledger(path)[1]] == [1, 2, 2]


def test_a_seeded_replay_is_free_once_and_only_after_a_restart(tmp_path: Path) -> None:
    path, terms = tmp_path / "ledger.jsonl", replace(TERMS, seeded=True)
    written(path, 2, terms)
    with Ledger(path, terms=terms) as ledger:
        ledger.charge(EVENT, round=2)
        assert len(ledger.charges) == 2
        ledger.charge(EVENT, round=2)  # a second release in the round is another draw
        assert len(ledger.charges) == 3
        ledger.charge(EVENT, round=3)
        ledger.charge(EVENT, round=3)
        assert len(ledger.charges) == 5
        ledger.charge(replace(EVENT, noise_multiplier=2.0), round=1)
        assert len(ledger.charges) == 6


def test_a_seeded_replay_fits_a_spent_budget(tmp_path: Path) -> None:
    path, budget = tmp_path / "ledger.jsonl", guaranteed([EVENT] * 2, delta=1e-5).value
    terms = replace(TERMS, seeded=True, budget=budget)
    written(path, 2, terms)
    with Ledger(path, terms=terms) as ledger:
        ledger.require(EVENT, round=2)
        ledger.charge(EVENT, round=2)
        with pytest.raises(BudgetExhausted):
            ledger.charge(EVENT, round=2)


@pytest.mark.parametrize("seeded", [False, True])
def test_noise_must_be_of_the_kind_that_the_ledger_states(seeded: bool, tmp_path: Path) -> None:
    wrong = NoiseSource(None if seeded else Seeds(1))
    with Ledger(tmp_path / "ledger.jsonl", terms=replace(TERMS, seeded=seeded)) as ledger:
        receipt = ledger.charge(EVENT, round=1)
        with pytest.raises(PrivacyError, match=r"simulation\.seeded"):
            receipt.spend(EVENT, seeded=wrong.seeded)
        receipt.spend(EVENT, seeded=seeded)
