"""Certificates on the command line: written, checked, refuted; and the example on real actors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import sordino

from sordino.modality import fingerprint
from sordino.models.emotion import Branch, BranchOptions, EmotionNetwork
from sordino.models.emotion.storage import save_network
from sordino.privacy import Ledger, Terms
from sordino.privacy.events import GaussianRelease
from sordino.records import RunFolder

EXAMPLE = Path(__file__).parents[2] / "examples" / "emotion.toml"


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """What a run leaves that certificates are made from: one part was released, with z = 2."""
    folder = RunFolder(tmp_path / "run")
    folder.begin(config='task = "emotion"\n')
    network = EmotionNetwork(2)
    for seed, name in enumerate(("prosody", "speech")):
        network = network.extended(name, Branch(3, 2, options=BranchOptions(hidden=4), seed=seed))
    save_network(network, folder.model, classes=("joy", "anger"))
    terms = Terms(unit="person", population=5, clients_per_speaker=1, delta=1e-5)
    with Ledger(folder.ledger, terms=terms) as ledger:
        ledger.charge(GaussianRelease(noise_multiplier=2.0, neighbours="speech or none", what="it"), round=1)
    part = {"name": "features", "clip_norm": 0.5, "sensitivity": 0.5, "noise_multiplier": 2.0, "noise_std": 1.0}
    record = {
        "mode": "surgery",
        "modality": "speech",
        "scope": "speech alone",
        "mechanism": {
            "kind": "clipped difference",
            "adjacency": "speech or none",
            "parts": [part | {"dimensions": 4, "parameters": 12}],
            "kept": {"share": 0.5},
        },
        "hashes": {"kept": fingerprint(network.reduced("speech")), "never_exposed": None, "before": None},
        "tests": {"kept_equals_never_exposed": True, "masks": {"prosody": 0.4, "speech": None}, "attacks": None},
    }
    folder.write_json(folder.path / "withdrawal.json", record)
    return folder


def test_a_certificate_is_written_and_holds(run: RunFolder, tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    issued = json.loads(sordino("modality", "certify", run.path, "--out", path, "--json").stdout)
    assert issued == json.loads(path.read_text(encoding="utf-8"))
    assert issued["epsilon"] == pytest.approx(1.9938, abs=2e-3)  # z = 1.9938 is what epsilon 2 needs
    assert issued["composition"]["rho"] == 0.125
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    assert "Certificate of withdrawal: speech" in page
    assert issued["hashes"]["after"] in page
    checked = json.loads(sordino("modality", "verify", path, run.path, "--json").stdout)
    assert checked["holds"]
    assert "The certificate holds." in sordino("modality", "verify", path, run.path).stdout


def test_a_certificate_that_says_more_than_the_ledger_is_refuted(run: RunFolder) -> None:
    sordino("modality", "certify", run.path)
    path = run.path / "certificate.json"
    changed = json.loads(path.read_text(encoding="utf-8")) | {"epsilon": 0.5}
    path.write_text(json.dumps(changed), encoding="utf-8")
    done = sordino("modality", "verify", path, run.path, check=1)
    assert "DOES NOT HOLD" in done.stdout
    assert "the ledger gives epsilon 1.99" in " ".join(done.stdout.split())


def test_what_is_no_run_or_no_certificate_is_named(run: RunFolder, tmp_path: Path) -> None:
    assert "is no certificate" in sordino("modality", "verify", run.config, run.path, check=2).stderr
    other = RunFolder(tmp_path / "other")
    other.begin(config='task = "federated"\n')
    assert 'expected a finished run with task = "emotion"' in sordino("modality", "certify", other.path, check=2).stderr
    (run.path / "withdrawal.json").write_text("{}", encoding="utf-8")
    assert "is damaged" in sordino("modality", "certify", run.path, check=2).stderr


def test_the_example_says_where_its_recordings_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SORDINO_DATA", raising=False)
    assert "SORDINO_DATA is not set" in sordino("run", EXAMPLE, "--out", tmp_path / "run", check=2).stderr
    monkeypatch.setenv("SORDINO_DATA", str(tmp_path / "nowhere"))
    assert "nowhere" in sordino("run", EXAMPLE, "--out", tmp_path / "run", check=2).stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_emotions_of_real_actors(data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_DATA", str(data_root))
    small = ("--set", "evaluation.tested_folds=1", "--set", "modality.local.epochs=10")
    result = json.loads(sordino("run", EXAMPLE, *small, "--out", tmp_path / "run", "--json").stdout)
    assert set(result["masks"]) == {"prosody+speech", "prosody", "speech"}
    assert result["before"]["prosody+speech"]["accuracy"] > 1.5 * result["masks"]["prosody"]["chance"]
    assert result["certificate"]["mode"] == "surgery"
    assert 3.9 < result["certificate"]["epsilon"] <= 4.0
    assert result["certificate"]["delta"] == 1e-5
    sordino("modality", "verify", tmp_path / "run" / "certificate.json", tmp_path / "run")
    assert json.loads(sordino("privacy", tmp_path / "run", "--json").stdout)["words"] == result["statement"]
