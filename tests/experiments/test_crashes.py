"""``kill -9`` at every point where the order of two writes matters, and at random times: what is left, and what resumes.

The runs happen in processes forked from a server that has imported everything once.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
import torch
from crashing import run_here

from sordino.federated import load_checkpoint
from sordino.privacy import read_ledger
from sordino.records import RunFolder

pytestmark = pytest.mark.slow

FAULTS = (
    "charge.before-fsync",
    "charge.after-fsync",
    "release.before",
    "release.after",
    "checkpoint.before-rename",
    "checkpoint.after-rename",
)


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sordino.experiments", "sordino.federated", "sordino.models.loading"])
    return context


def run_there(context: ForkServerContext, small: Path, path: Path, *changes: str, fault: str = "",
              resume: bool = False, kill_after_s: float | None = None) -> int | None:  # fmt: skip
    arguments = (str(small), str(path), list(changes), fault)
    process = context.Process(target=run_here, args=arguments, kwargs={"resume": resume})
    process.start()
    process.join(kill_after_s if kill_after_s is not None else 120)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode


def finished(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(RunFolder(path).result.read_text())
    return result


def values(path: Path) -> torch.Tensor:
    return load_checkpoint(RunFolder(path).checkpoint, digest=digest_of(path))[0].values


def digest_of(path: Path) -> str:
    from safetensors import safe_open

    with safe_open(RunFolder(path).checkpoint, framework="pt") as file:
        return str(file.metadata()["layout"])


@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_kill_the_ledger_counts_at_least_what_left_and_the_run_resumes(
    fault: str, small: Path, tmp_path: Path, processes: ForkServerContext
) -> None:
    path = tmp_path / "run"
    nth = (
        2 if fault.startswith("release") else 3
    )  # in round 2: the first charge is the terms, the first checkpoint round 0
    assert run_there(processes, small, path, fault=f"{fault}:{nth}") == -signal.SIGKILL
    charged = len(read_ledger(path / "ledger.jsonl")[1])
    released = 2 if fault in ("release.after", "checkpoint.before-rename", "checkpoint.after-rename") else 1
    assert charged >= released
    assert not RunFolder(path).result.exists()

    assert run_there(processes, small, path, resume=True) == 0
    result = finished(path)
    assert result["rounds"] == 3
    assert result["stopped"] is None
    charges = read_ledger(path / "ledger.jsonl")[1]
    lost = fault not in ("checkpoint.after-rename",) and charged == 2
    assert len(charges) == 3 + lost  # a round whose checkpoint was lost is paid for again
    assert [line["round"] for line in RunFolder(path).read_rounds()] == [0, 1, 2, 3]


def test_a_budget_that_no_longer_reaches_gives_fewer_rounds_and_says_so(
    small: Path, tmp_path: Path, processes: ForkServerContext
) -> None:
    path, changes = tmp_path / "run", ("privacy.epsilon=5.9",)  # three rounds cost 5.84
    assert run_there(processes, small, path, *changes, fault="checkpoint.before-rename:3") == -signal.SIGKILL
    assert run_there(processes, small, path, *changes, resume=True) == 0
    result = finished(path)
    assert result["rounds"] == 2
    assert "stopped after round 2 of 3" in result["stopped"]
    assert result["epsilon"]["pld"] <= 5.9


def test_a_seeded_run_killed_and_resumed_equals_the_unbroken_one_to_the_bit(
    small: Path, tmp_path: Path, processes: ForkServerContext
) -> None:
    seeded = ("simulation.seeded=true", "privacy.allocation=dim-ema")
    assert run_there(processes, small, tmp_path / "whole", *seeded) == 0
    assert (
        run_there(processes, small, tmp_path / "broken", *seeded, fault="checkpoint.before-rename:3") == -signal.SIGKILL
    )
    assert run_there(processes, small, tmp_path / "broken", *seeded, resume=True) == 0
    assert torch.equal(values(tmp_path / "whole"), values(tmp_path / "broken"))
    whole, broken = finished(tmp_path / "whole"), finished(tmp_path / "broken")
    assert whole["wer"] == broken["wer"]
    assert "seeded simulation" in broken["statement"]


def test_kills_at_random_times_leave_nothing_that_cannot_be_resumed(
    small: Path, tmp_path: Path, processes: ForkServerContext
) -> None:
    path, clock = tmp_path / "run", random.Random(3)
    started = time.monotonic()
    assert run_there(processes, small, tmp_path / "timing") == 0
    whole_s = time.monotonic() - started
    for _ in range(5):
        begun = RunFolder(path).config.exists()
        exitcode = run_there(processes, small, path, resume=begun, kill_after_s=clock.uniform(0.2, 1.0) * whole_s)
        assert exitcode in (0, -signal.SIGKILL)
        if exitcode == 0:
            break
    if not RunFolder(path).result.exists():
        assert run_there(processes, small, path, resume=RunFolder(path).config.exists()) == 0
    assert finished(path)["rounds"] == 3
    assert len(read_ledger(path / "ledger.jsonl")[1]) >= 3
