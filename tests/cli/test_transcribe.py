"""Recordings of every kind, and those that cannot be used, through a run's model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from calling import sordino

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one round, without privacy so that the model stays a model."""
    folder = tmp_path_factory.mktemp("transcribe")
    (folder / "tiny.toml").write_text(
        "[data.corpus]\nmethod = 'synthetic-voices'\nvoices = 6\nutterances_per_voice = 3\nheld_out_voices = 3\n"
        "utterances_per_held_out_voice = 2\n[federated]\nrounds = 1\nlocal = { epochs = 1, lr = 1e-9 }\n"
        "[privacy]\nmechanism = 'none'\n[simulation]\nthreads = 1\n"
    )
    sordino("run", folder / "tiny.toml", "--out", folder / "run")
    return folder / "run"


@pytest.fixture
def digits(run: Path, data_root: Path) -> np.ndarray:
    return soundfile.read(data_root / "fsdd" / "s1" / "7_00.flac", dtype="float32")[0]


def test_every_format_rate_and_channel_count(run: Path, digits: np.ndarray, tmp_path: Path) -> None:
    wide = soxr.resample(digits, 8_000, 44_100)
    soundfile.write(tmp_path / "a b.wav", digits, 8_000)
    soundfile.write(tmp_path / "stereo.flac", np.stack([digits, digits], axis=1), 8_000)
    soundfile.write(tmp_path / "é.ogg", wide, 44_100)
    soundfile.write(tmp_path / "m.mp3", wide, 44_100)
    done = sordino("transcribe", run, tmp_path)
    lines = dict(line.split("\t") for line in done.stdout.splitlines())
    assert [Path(path).name for path in lines] == ["a b.wav", "m.mp3", "stereo.flac", "é.ogg"]
    assert all(lines.values())
    assert lines[str(tmp_path / "a b.wav")] == lines[str(tmp_path / "stereo.flac")]
    alone = sordino("transcribe", run, tmp_path / "a b.wav")
    assert alone.stdout.rstrip("\n") == lines[str(tmp_path / "a b.wav")]


def test_a_recording_longer_than_the_window_is_split(run: Path, digits: np.ndarray, tmp_path: Path) -> None:
    pause = np.zeros(8_000, np.float32)
    soundfile.write(tmp_path / "long.wav", np.concatenate([digits, pause] * 6), 8_000)
    result = json.loads(sordino("transcribe", run, tmp_path / "long.wav", "--json").stdout)
    assert result["duration_s"] == pytest.approx(6 * (len(digits) / 8_000 + 1), abs=1e-3)
    assert len(result["text"].split()) >= 5
    assert result["truncated"] in (True, False)


def test_the_unusable_ones_are_named_and_do_not_stop_the_others(run: Path, digits: np.ndarray, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "good.wav", digits, 8_000)
    soundfile.write(tmp_path / "silent.wav", np.zeros(8_000), 8_000)
    (tmp_path / "empty.wav").touch()
    (tmp_path / "text.wav").write_text("no sound")
    (tmp_path / "none").mkdir()
    names = ["missing.wav", "silent.wav", "empty.wav", "text.wav", "none", "good.wav"]
    done = sordino("transcribe", run, *(tmp_path / name for name in names), check=1)
    errors = done.stderr.splitlines()
    reasons = ["does not exist", "is silent", "empty file", "not an audio file", "no recording"]
    for line, said in zip(errors, reasons, strict=True):
        assert line.startswith("error: ")
        assert said in line
    assert done.stdout.startswith(f"{tmp_path / 'good.wav'}\t")
    done = sordino("transcribe", run, *(tmp_path / name for name in names), "--json", check=1)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert ["error" in line for line in lines] == [True] * 5 + [False]


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    assert "no run folder" in sordino("transcribe", tmp_path, tmp_path / "a.wav", check=2).stderr
