"""Following a run on Flower: what its user is told of how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino.experiments import load_federated
from sordino.experiments.on_flower.launching import Deployment, run_on_flower
from sordino.flower.launch import SAID, Connection, FlowerFailed


class Ended(Connection):
    """A connection whose run has ended: it says these lines, and cannot be stopped any more."""

    said: tuple[str, ...] = ()
    interrupted = False

    def start(self, app: Path) -> str:
        return "7"

    def lines(self, run: str) -> Iterator[str]:
        yield from self.said
        if self.interrupted:
            raise KeyboardInterrupt

    def succeeded(self, run: str) -> bool:
        return False

    def stop(self, run: str) -> None:
        raise FlowerFailed("it has ended")


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> type[Ended]:
    monkeypatch.setattr(Ended, "interrupted", False)
    monkeypatch.setattr("sordino.experiments.on_flower.launching.Connection", Ended)
    return Ended


def follow(small: Path, folder: Path, notes: list[str]) -> None:
    run_on_flower(load_federated(small), folder, where=Deployment(superlink="clinic"), note=notes.append)


def test_a_server_that_died_leaves_a_run_to_take_up(
    small: Path, tmp_path: Path, ended: type[Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr(ended, "said", ("Starting", f"INFO {SAID}round 1/3", "Killed"))
    with pytest.raises(
        FlowerFailed, match=r"run 7 ended without saying why; .*--resume and --out; .*Starting \| Killed"
    ):
        follow(small, tmp_path / "run", notes)
    assert notes == ["round 1/3"]


def test_what_the_server_says_is_wrong_is_the_error(
    small: Path, tmp_path: Path, ended: type[Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended, "said", (f"{SAID}error: the ledger is in use", f"{SAID}error: and so on", "Traceback"))
    with pytest.raises(FlowerFailed, match=r"^the ledger is in use$"):
        follow(small, tmp_path / "run", [])


def test_interrupting_what_has_ended_is_an_interruption(
    small: Path, tmp_path: Path, ended: type[Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended, "interrupted", True)
    with pytest.raises(KeyboardInterrupt):
        follow(small, tmp_path / "run", [])


def test_a_simulation_has_a_node_for_each_client(small: Path) -> None:
    assert load_federated(small).on_flower().count_clients() == 6
