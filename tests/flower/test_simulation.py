"""The real thing, simulated: Flower's SuperLink, Ray's actors, and the run folder that one process leaves."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from deployed import left_behind, processes_with

from sordino.experiments import load_experiment, run_federated
from sordino.federated import load_checkpoint
from sordino.flower.launch import simulated
from sordino.records import RunFolder

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))

from calling import sordino

SETTINGS = ("simulation.seeded=true", "federated.rounds=2", "telemetry=debug", "privacy.allocation=auto")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_simulation_is_the_run_of_one_process(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("SORDINO_MARK", str(tmp_path))
    run_federated(load_experiment(small, SETTINGS), tmp_path / "here")
    overrides = [part for setting in SETTINGS for part in ("--set", setting)]
    done = sordino("flower", "run", small, *overrides, "--nodes", 6, "--out", tmp_path / "there", "--json")

    here, there = RunFolder(tmp_path / "here"), RunFolder(tmp_path / "there")
    digest = load_digest(here)
    first, second = (load_checkpoint(folder.checkpoint, digest=digest)[0].values for folder in (here, there))
    assert float((first - second).abs().max()) <= 1e-6
    assert charges(there) == charges(here)
    assert there.config.read_text() == here.config.read_text()
    for mine, theirs in zip(here.read_rounds(), there.read_rounds(), strict=True):
        assert theirs["wer"] == mine["wer"]
        if "telemetry" in mine:
            assert theirs["telemetry"]["loss"] == pytest.approx(mine["telemetry"]["loss"], abs=1e-5)
            assert theirs["telemetry"]["replies"] == mine["telemetry"]["replies"]
    assert {path.name for path in there.path.iterdir()} == {path.name for path in here.path.iterdir()} | {"report.html"}
    assert json.loads(done.stdout)["statement"] == json.loads(here.result.read_text())["statement"]
    assert "round 2/2" in done.stderr
    assert not left_behind(str(tmp_path))


SLEEPING = """
from time import sleep
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
client = ClientApp()
server = ServerApp()
@server.main()
def main(grid, context):
    sleep(600)
"""
APP = """
[project]
name = "sleeping"
version = "1.0.0"
license = "Apache-2.0"
[tool.flwr.app]
publisher = "nobody"
[tool.flwr.app.components]
serverapp = "sleeping:server"
clientapp = "sleeping:client"
"""


@pytest.mark.slow
def test_a_run_does_not_outlive_the_simulation_that_it_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is in a session of its own: it would write into the run folder after Ctrl-C, and meet who resumes it."""
    monkeypatch.setenv("SORDINO_MARK", str(tmp_path))
    (tmp_path / "pyproject.toml").write_text(APP)
    (tmp_path / "sleeping.py").write_text(SLEEPING)
    with simulated(nodes=1, cpus=1, gpus=0) as connection:
        connection.start(tmp_path)
        deadline = time.monotonic() + 60
        while not runs_under(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert runs_under(tmp_path)
    assert not runs_under(tmp_path)


def runs_under(mark: Path) -> list[str]:
    return [command for command in processes_with(str(mark)).values() if "flwr-simulation" in command]


def load_digest(folder: RunFolder) -> str:
    from safetensors import safe_open

    with safe_open(folder.checkpoint, framework="pt") as file:
        return str(file.metadata()["layout"])


def charges(folder: RunFolder) -> list[dict[str, object]]:
    lines = folder.read_lines(folder.ledger)
    return [{key: value for key, value in line.items() if key != "on"} for line in lines]
