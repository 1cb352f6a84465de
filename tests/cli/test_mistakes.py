"""Every mistake gets one sentence that names the value and the remedy, exit code 2, and leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from calling import sordino

MISTAKES = [
    (["privacy.allocatoin={method='flat'}"], ["privacy.allocatoin", "allocation"]),
    (["privacy.allocation=alpha-spilt"], ["alpha-spilt", "did you mean 'alpha-split'"]),
    (["privacy.allocation.alpha=1.0"], ["alpha", "1.0", "[0, 1)"]),
    (["privacy.allocation.alpha=-0.1"], ["alpha", "-0.1"]),
    (["privacy.delta=0.5"], ["0.5", "1/population", "force_delta"]),
    (["privacy.clip_norm=0"], ["privacy.clip_norm", "0"]),
    (["privacy.clip_norm=inf"], ["inf", "finite clip norm"]),
    (["privacy.noise_multiplier='loud'"], ["privacy.noise_multiplier", "'loud'", "number"]),
    (["privacy.grouping=tensors"], ["tensors", "did you mean 'tensor'"]),
    (["federated.rounds=0"], ["federated.rounds", "0"]),
    (["federated.rounds=10000000000"], ["federated.rounds", "at most 100000"]),
    (["federated.cohort.rate=1.5"], ["federated.cohort.rate", "1.5"]),
    (["federated.cohort={method='fixed',size=9}"], ["9", "population of 6"]),
    (["federated.local.learning_rate=1"], ["federated.local.learning_rate", "keys here"]),
    (["privacy.population=2"], ["population = 2", "6 clients"]),
    (["data.partition={method='attribute',attribute='language'}"], ["privacy.unit", "several speakers"]),
    (["data.partition={method='sessions',per_speaker=50}"], ["has no utterance", "per_speaker"]),
    (["model.base=/no/such/folder"], ["/no/such/folder"]),
    (["plugins=['no_such_module']"], ["no_such_module"]),
    (["task=singing"], ["singing", "federated"]),
]


@pytest.mark.parametrize(("changes", "said"), MISTAKES, ids=[" ".join(changes) for changes, _ in MISTAKES])
def test_a_wrong_option(changes: list[str], said: list[str], small: Path, tmp_path: Path) -> None:
    settings = [part for change in changes for part in ("--set", change)]
    done = sordino("run", small, *settings, "--out", tmp_path / "run", check=2)
    assert_one_sentence(done.stderr, said)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, ["does not exist"]),
        ("this is = = not TOML", ["is not TOML"]),
        ("[data]\n", ["data.corpus"]),
        ("extends = 'other.toml'\n", ["other.toml"]),
        ("[data]\ncorpus = { method = 'fsdd', path = '${SORDINO_NOWHERE}/fsdd' }\n", ["SORDINO_NOWHERE"]),
    ],
)
def test_a_wrong_file(content: str | None, said: list[str], tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    if content is not None:
        file.write_text(content)
    done = sordino("run", file, "--out", tmp_path / "run", check=2)
    assert_one_sentence(done.stderr, said)
    assert not (tmp_path / "run").exists()


def manifest_experiment(folder: Path, lines: list[dict[str, object]]) -> Path:
    (folder / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    file = folder / "own.toml"
    file.write_text(
        f"data = {{ corpus = {{ method = 'manifest', train = '{folder / 'train.jsonl'}' }} }}\nprivacy = {{ epsilon = 8 }}\n"
    )
    return file


def tone(path: Path, *, rate: int = 16_000) -> None:
    soundfile.write(path, 0.1 * np.sin(np.arange(rate) / 10), rate)


def test_an_empty_manifest(tmp_path: Path) -> None:
    done = sordino("run", manifest_experiment(tmp_path, []), "--out", tmp_path / "run", check=2)
    assert_one_sentence(done.stderr, ["train.jsonl"])


def test_recordings_that_are_text(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = []
    for index in range(2):
        (tmp_path / f"{index}.wav").write_text("this is no audio")
        lines.append({"audio_filepath": f"{index}.wav", "duration": 1.0, "text": "one", "speaker": f"s{index}"})
    done = sordino("run", manifest_experiment(tmp_path, lines), "--out", tmp_path / "run", check=2)
    assert_one_sentence(done.stderr, ["0.wav", "unreadable"])
    checked = sordino("data", "check", tmp_path / "train.jsonl", check=2)
    assert "line 1" in checked.stdout
    assert "line 2" in checked.stdout


def test_a_recording_that_is_missing(tmp_path: Path) -> None:
    tone(tmp_path / "0.wav")
    lines: list[dict[str, object]] = [
        {"audio_filepath": name, "duration": 1.0, "text": "one", "speaker": name} for name in ("0.wav", "1.wav")
    ]
    done = sordino("run", manifest_experiment(tmp_path, lines), "--out", tmp_path / "run", check=2)
    assert_one_sentence(done.stderr, ["1.wav", "line 2"])


@pytest.mark.parametrize("verb", ["evaluate", "privacy"])
def test_a_folder_that_is_no_run(verb: str, tmp_path: Path) -> None:
    assert_one_sentence(sordino(verb, tmp_path, check=2).stderr, [str(tmp_path)])


def test_resuming_nothing(tmp_path: Path) -> None:
    assert_one_sentence(sordino("run", "--resume", check=2).stderr, ["--out"])
    assert_one_sentence(sordino("run", "--resume", "--out", tmp_path, check=2).stderr, [str(tmp_path), "no run folder"])


def test_a_full_folder_is_not_overwritten(small: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("mine")
    done = sordino("run", small, "--out", tmp_path / "run", check=2)
    assert_one_sentence(done.stderr, ["--resume", "--out"])
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["thesis.txt"]


def test_a_budget_for_no_round_at_all(small: Path, tmp_path: Path) -> None:
    done = sordino("run", small, "--set", "privacy.epsilon=0.5", "--out", tmp_path / "run", check=3)
    assert_one_sentence(done.stderr, ["budget of 0.5"])


def assert_one_sentence(stderr: str, said: list[str]) -> None:
    lines = [line for line in stderr.splitlines() if line]
    assert lines[-1].startswith("error: "), stderr
    assert sum(line.startswith("error: ") for line in lines) == 1
    assert "Traceback" not in stderr
    for text in said:
        assert text in lines[-1], stderr


def test_training_with_a_server_needs_an_experiment_that_has_one(small: Path, tmp_path: Path) -> None:
    done = sordino("split", "train", small, "--server", "127.0.0.1:1", "--insecure", "--out", tmp_path / "run", check=2)
    assert 'task = "federated": sordino split train expects a split experiment' in done.stderr
    assert not (tmp_path / "run").exists()
