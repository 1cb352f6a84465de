"""Ctrl-C leaves a run that can be continued, and says how."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
from calling import environment, sordino

from sordino.privacy import read_ledger


def test_ctrl_c_while_the_verbs_are_loaded_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(args: list[str]) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "sordino.cli.app", SimpleNamespace(app=interrupted))
    done = sordino("plan", check=130)
    assert done.stdout + done.stderr == ""


@pytest.mark.slow
@pytest.mark.usefixtures("heeded_interrupts")
def test_ctrl_c_and_resume(small: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ["run", str(small), "--out", str(run), "--set", "federated.rounds=4000"]
    command = [sys.executable, "-u", "-c", "from sordino.cli import main; main()", *arguments]
    with environment(), subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("round 2/4000"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130
    assert f"continue with: sordino run --resume --out {run}" in rest
    assert "Traceback" not in rest
    rounds = [json.loads(line)["round"] for line in (run / "rounds.jsonl").read_text().splitlines()]
    assert 2 <= rounds[-1] < 4000
    assert len(read_ledger(run / "ledger.jsonl")[1]) >= rounds[-1]

    other = sordino("run", small, "--resume", "--out", run, check=2)
    assert "settings given differ" in other.stderr

    # the rest would take 4000 rounds; a config edited by hand to fewer rounds is the same experiment to the ledger
    config = run / "config.toml"
    config.write_text(config.read_text().replace("rounds = 4000", f"rounds = {rounds[-1] + 1}"))
    done = json.loads(sordino("run", "--resume", "--out", run, "--json").stdout)
    assert done["rounds"] == rounds[-1] + 1
