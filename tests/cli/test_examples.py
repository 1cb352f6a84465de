"""Every shipped experiment loads, plans, and runs on real recordings, made small."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from calling import sordino

import sordino.models as sordino_models

CONFIGS = Path(sordino_models.__file__).parent / "architectures"  # planning reads no weights, only sizes
FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted((*FOLDER.glob("*.toml"), *FOLDER.glob("regimes/*.toml")))
REAL_DIGITS = FOLDER / "real-digits.toml"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_loads_and_one_of_a_federated_speech_llm_plans(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_DATA", "/anywhere")
    monkeypatch.setenv("SORDINO_WEIGHTS", str(CONFIGS))
    resolved = tomllib.loads(sordino("config", "show", file).stdout)
    if resolved["task"] != "federated":
        return
    report = json.loads(sordino("plan", file, "--json").stdout)
    if report["noise_multiplier"]:
        squares = sum(norm**2 for norm in report["clip_norms"].values())
        assert squares == pytest.approx(resolved["privacy"]["clip_norm"] ** 2)
    assert report["unit"] in report["epsilon"]["by_unit"]


def test_a_missing_corpus_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SORDINO_DATA", raising=False)
    assert "SORDINO_DATA is not set" in sordino("run", REAL_DIGITS, "--out", tmp_path / "run", check=2).stderr
    monkeypatch.setenv("SORDINO_DATA", str(tmp_path / "nowhere"))
    assert "nowhere" in sordino("run", REAL_DIGITS, "--out", tmp_path / "run", check=2).stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_real_digits_in_small(data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_DATA", str(data_root))
    small = {
        "data.corpus.train_strings": 16,
        "data.corpus.test_strings": 4,
        "federated.rounds": 2,
        "evaluation.every": 0,
        "simulation.threads": 1,
    }
    settings = [part for key, value in small.items() for part in ("--set", f"{key}={value}")]
    result = json.loads(sordino("run", REAL_DIGITS, *settings, "--out", tmp_path / "run", "--json").stdout)
    assert result["wer"]["test_is"] == "held-out clips of training speakers"
    by_unit = result["epsilon"]["by_unit"]
    assert by_unit["speaker"]["pld"] > by_unit["client"]["pld"] > 20
    assert "in name only" in result["statement"]
    assert "do not call this run private" in result["statement"]


@pytest.mark.slow
def test_private_telemetry_hides_the_error_rate_on_training_speakers(
    data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SORDINO_DATA", str(data_root))
    small = ("data.corpus.train_strings=16", "data.corpus.test_strings=4", "federated.rounds=1", "telemetry=private")
    settings = [part for change in small for part in ("--set", change)]
    done = sordino("run", REAL_DIGITS, *settings, "--out", tmp_path / "run", "--json")
    result = json.loads(done.stdout)
    assert result["wer"]["before"] is None
    assert result["wer"]["after"] is None
    assert "No word error rate is shown" in done.stderr
    assert "Not covered" not in result["statement"]
