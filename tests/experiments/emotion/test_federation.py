"""Emotions learnt by federated rounds, privately and with models of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tones import tones

from sordino.errors import ConfigError
from sordino.experiments import load_experiment
from sordino.models.emotion.storage import load_network
from sordino.privacy import read_ledger, statement_of_run
from sordino.records import RunFolder
from sordino.reporting.summaries import summarise

FILE = """
task = "federated-emotion"
telemetry = "debug"
[data]
corpus = { method = "manifest", train = "all.jsonl", held_out = 0.4 }
public_speakers = 1
[model]
speech_layers = 1
branch = { hidden = 8 }
[start]
epochs = 2
[federated]
rounds = 2
cohort = { method = "poisson", rate = 1.0 }
local = { epochs = 2, lr = 1e-2, batch_size = 8 }
[privacy]
noise_multiplier = 1.0
[simulation]
threads = 1
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tones(tmp_path_factory.mktemp("corpus"), FILE)


def run(file: Path, folder: Path, *overrides: str) -> dict[str, Any]:
    return load_experiment(file, overrides).run(folder)


def test_rounds_are_charged_and_every_mask_is_scored(file: Path, tmp_path: Path) -> None:
    result = run(file, tmp_path / "run", 'telemetry="private"')
    terms, charges = read_ledger(tmp_path / "run" / "ledger.jsonl")
    assert len(charges) == 2
    assert (terms.unit, terms.population) == ("speaker", 3)
    assert result["statement"] == statement_of_run(tmp_path / "run").words
    assert list(result["masks"]) == list(result["before"]) == ["speech+prosody", "speech", "prosody"]
    assert result["personal"] is None
    assert load_network(tmp_path / "run" / "model")[0].modalities == ("speech", "prosody")
    for name, change in result["against_before"].items():
        rise = result["masks"][name]["accuracy"] - result["before"][name]["accuracy"]
        assert change["accuracy"] == pytest.approx(rise)
        assert change["ci95"][0] <= change["accuracy"] <= change["ci95"][1]
    table = summarise(RunFolder.open(tmp_path / "run")).tables[0]
    assert [column.title for column in table.columns][-2:] == ["after", "points gained"]


def test_clients_may_keep_a_modality_for_themselves(file: Path, tmp_path: Path) -> None:
    own = 'federated.method={method="fedper",personal_components=["prosody"]}'
    result = run(file, tmp_path / "run", own, 'privacy.mechanism="none"')
    assert len(result["personal"]) == 3
    assert result["before"]["prosody"]["accuracy"] == result["masks"]["prosody"]["accuracy"]  # no prosody left anybody
    assert "how well clients are served" in result["statement"]
    with pytest.raises(ConfigError, match="telemetry"):
        run(file, tmp_path / "other", own, 'telemetry="private"')
