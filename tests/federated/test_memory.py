"""What clients keep: theirs alone, as it was before the round that is done again, and whole after a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from sordino.errors import ConfigError
from sordino.federated import InMemory, Memory, OnDisk

NOTHING = torch.zeros(1)


@pytest.fixture(params=["process", "disk"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Memory]:
    """The same memory again, however often it is asked for; from disk it is opened anew each time."""
    kept = InMemory()
    return (lambda: kept) if request.param == "process" else (lambda: OnDisk(tmp_path / "memory"))


def value(memory: Memory, client: str, moment: tuple[int, int]) -> float:
    return float(memory.of(client, moment).recall("model", NOTHING))


def keep(memory: Memory, client: str, moment: tuple[int, int], number: float) -> None:
    memory.of(client, moment).keep(model=torch.tensor([number]))


def test_a_client_recalls_what_it_kept_and_nobody_elses(memory: Callable[[], Memory]) -> None:
    keep(memory(), "a", (1, 0), 1.0)
    keep(memory(), "b", (1, 0), 2.0)
    assert value(memory(), "a", (2, 0)) == 1.0
    assert value(memory(), "b", (5, 0)) == 2.0
    assert value(memory(), "c", (2, 0)) == 0.0
    assert memory().of("a", (2, 0)).recall("other", NOTHING) is NOTHING


def test_names_may_be_anything(memory: Callable[[], Memory]) -> None:
    for number, client in enumerate(["../../etc", "", "a/b", "\udc80", "x" * 500]):
        keep(memory(), client, (1, 0), number)
        assert value(memory(), client, (2, 0)) == number


def test_a_phase_recalls_the_phases_before_it_and_no_later_one(memory: Callable[[], Memory]) -> None:
    keep(memory(), "a", (1, 0), 1.0)
    keep(memory(), "a", (2, 0), 2.0)
    keep(memory(), "a", (2, 1), 3.0)
    assert [value(memory(), "a", (2, phase)) for phase in (0, 1, 2)] == [1.0, 2.0, 3.0]


def test_a_round_that_is_done_again_finds_what_was_before_it(memory: Callable[[], Memory]) -> None:
    for number in (1, 2, 3):
        keep(memory(), "a", (number, 0), float(number))
        keep(memory(), "a", (number, 1), number + 0.5)
    assert value(memory(), "a", (3, 0)) == 2.5
    keep(memory(), "a", (3, 0), 30.0)
    assert value(memory(), "a", (3, 1)) == 30.0  # not what the interrupted run kept in its second phase
    assert value(memory(), "a", (4, 0)) == 30.0


def test_a_first_round_that_is_done_again_starts_from_nothing(memory: Callable[[], Memory]) -> None:
    keep(memory(), "a", (1, 0), 1.0)
    assert value(memory(), "a", (1, 0)) == 0.0


def test_what_is_forgotten_is_not_made_up(memory: Callable[[], Memory]) -> None:
    for number in (1, 2, 3, 4):
        keep(memory(), "a", (number, 0), float(number))
    assert value(memory(), "a", (4, 0)) == 3.0
    with pytest.raises(ConfigError, match="what client 'a' kept before round 2 is forgotten"):
        value(memory(), "a", (2, 0))


def test_two_rounds_are_kept_and_no_more(tmp_path: Path) -> None:
    memory = OnDisk(tmp_path)
    for number in range(1, 9):
        keep(memory, "a", (number, 0), 0.0)
        keep(memory, "a", (number, 1), 0.0)
    assert sorted(path.name for path in tmp_path.rglob("*.safetensors")) == [
        "7-1.safetensors", "8-0.safetensors", "8-1.safetensors"
    ]  # fmt: skip


def test_what_is_not_finite_is_not_kept(memory: Callable[[], Memory]) -> None:
    keep(memory(), "a", (1, 0), 1.0)
    keep(memory(), "a", (2, 0), float("nan"))
    assert value(memory(), "a", (3, 0)) == 1.0


def test_what_is_kept_is_a_copy(memory: Callable[[], Memory]) -> None:
    tensor = torch.ones(2)
    memory().of("a", (1, 0)).keep(model=tensor)
    tensor.zero_()
    assert memory().of("a", (2, 0)).recall("model", NOTHING).tolist() == [1, 1]


def test_damage_is_a_sentence(tmp_path: Path) -> None:
    memory = OnDisk(tmp_path)
    keep(memory, "a", (1, 0), 1.0)
    (path,) = tmp_path.rglob("*.safetensors")
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(ConfigError, match="is not what a client kept"):
        value(memory, "a", (2, 0))
