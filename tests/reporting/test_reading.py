"""Records are read back as they were written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sordino.privacy import statement_of_run
from sordino.reporting import read_run, read_runs


def test_values_are_those_of_the_files(runs: dict[str, Path]) -> None:
    run = read_run(runs["sound"])
    result = json.loads((runs["sound"] / "result.json").read_text())
    lines = [json.loads(line) for line in (runs["sound"] / "rounds.jsonl").read_text().splitlines()]
    assert [line.number for line in run.rounds] == [0, 1, 2, 3]
    assert [line.epsilon for line in run.rounds] == [line.get("epsilon") for line in lines]
    assert run.rate_before is not None
    assert run.rate_before.wer == lines[0]["wer"]["wer"] == result["wer"]["before"]
    assert run.rate_after is not None
    assert run.rate_after.wer == result["wer"]["after"]
    assert list(run.rate_after.ci95 or ()) == result["wer"]["ci95"]
    assert run.rates[-1] == (3, run.rate_after)
    assert run.epsilon == result["epsilon"]["pld"]
    assert run.option("federated", "cohort", "rate") == 0.5
    assert run.option("federated", "no-such-key", default=7) == 7
    telemetry = run.rounds[1].telemetry
    assert telemetry is not None
    assert telemetry.loss == lines[1]["telemetry"]["loss"]
    assert [block.clip_norm for block in telemetry.blocks] == [1.0]


def test_transcripts_give_the_recorded_rates_and_intervals(runs: dict[str, Path]) -> None:
    run = read_run(runs["weak"])
    for rate, report in ((run.rate_before, run.report_before), (run.rate_after, run.report_after)):
        assert rate is not None
        assert report is not None
        assert (report.wer, report.ci95) == (rate.wer, rate.ci95)


def test_an_unfinished_run_states_what_its_ledger_says(unfinished: Path) -> None:
    run = read_run(unfinished)
    assert run.result is None
    assert run.rate_after is None
    assert run.latest == run.rates[-1][1]
    assert run.num_rounds == 2
    assert run.statement == statement_of_run(unfinished)


def test_the_statement_is_the_ledgers(runs: dict[str, Path]) -> None:
    for folder in runs.values():
        assert read_run(folder).statement == statement_of_run(folder)


def test_private_telemetry_has_none(runs: dict[str, Path]) -> None:
    assert all(line.telemetry is None for line in read_run(runs["private"]).rounds)


@pytest.mark.parametrize(
    ("folders", "labels"),
    [(["a", "b"], ["a", "b"]), (["x/run", "y/run"], ["x/run", "y/run"]), (["run", "y/run"], ["{root}/run", "y/run"])],
)
def test_labels_tell_runs_apart(
    folders: list[str], labels: list[str], copied: Callable[[str], Path], tmp_path: Path
) -> None:
    source, root = copied("private"), tmp_path / "root"
    for folder in folders:
        shutil.copytree(source, root / folder)
    read = read_runs([root / folder for folder in folders])
    assert [run.label for run in read] == [label.format(root="root") for label in labels]
