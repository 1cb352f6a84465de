"""What a run leaves in its folder for reports and comparisons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sordino.evaluation import Sample, score
from sordino.experiments import load_experiment, run_federated
from sordino.records import RunFolder
from sordino.seeds import Seeds


def test_kept_transcripts_give_the_stated_error_rates(small: Path, tmp_path: Path) -> None:
    debug = ["telemetry=debug", "data.corpus.seen_utterances_per_voice=1"]
    result = run_federated(load_experiment(small, debug), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    stated = {"before": result["wer"]["before"], "after": result["wer"]["after"], "seen": result["wer"]["seen"]["wer"]}
    for name, wer in stated.items():
        samples = [Sample(**line) for line in folder.read_lines(folder.transcripts(name))]
        assert score(samples, seeds=Seeds(0)).wer == pytest.approx(wer)
    assert json.loads(folder.result.read_text())["versions"]["torch"].startswith("2.")


def test_private_runs_keep_nothing_of_training_speakers(small: Path, tmp_path: Path) -> None:
    private = ["telemetry=private", "data.corpus.seen_utterances_per_voice=1"]
    run_federated(load_experiment(small, private), tmp_path / "run")
    assert json.loads((tmp_path / "run" / "result.json").read_text())["seconds"] is None
    charge = json.loads((tmp_path / "run" / "ledger.jsonl").read_text().splitlines()[1])
    assert len(charge["on"]) == len("2026-01-01"), "no time of day"
    names = {path.name for path in (tmp_path / "run" / "transcripts").iterdir()}
    assert names == {"before.jsonl", "after.jsonl"}  # held-out voices alone
