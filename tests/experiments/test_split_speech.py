"""Split experiments with speech end to end: the example as two processes, emotions of real voices, and what cannot be."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from sordino.cli.app import app
from sordino.config import build
from sordino.data import write_audio
from sordino.errors import ConfigError, DataError
from sordino.experiments import load_experiment
from sordino.experiments.split_speech import predict_split_speech
from sordino.experiments.tasks.divided import SplitServer
from sordino.experiments.tasks.split_speech import SplitSpeechExperiment
from sordino.privacy.ledger import read_ledger
from sordino.records import RunFolder
from sordino.reporting.summaries import summarise
from sordino.split.methods import METHODS

EXAMPLE = Path(__file__).parents[2] / "examples" / "split-speech.toml"
FEW = {"method": "synthetic-voices", "languages": ["en"], "voices": 6, "utterances_per_voice": 3, "digits": [1, 1],
       "held_out_voices": 2, "utterances_per_held_out_voice": 3, "seen_utterances_per_voice": 0}  # fmt: skip
SMALL = {
    "task": "split-speech",
    "data": {"corpus": FEW, "public_speakers": 2, "window_s": 2.0},
    "model": {"layers": [2], "reduction": 4},
    "training": {"epochs": 1},
    "privacy": {"noise": {"method": "gaussian", "noise_multiplier": 2.0}},
    "simulation": {"threads": 1},
}  # fmt: skip


def experiment(**changes: Any) -> SplitSpeechExperiment:
    made: SplitSpeechExperiment = build(SplitSpeechExperiment, {**SMALL, **changes})
    return made


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The shipped example with fewer voices; client and server are two processes."""
    torch.set_num_threads(1)
    corpus = {"voices": 8, "utterances_per_voice": 3, "held_out_voices": 3, "utterances_per_held_out_voice": 4}
    fewer = [f"data.corpus.{key}={value}" for key, value in corpus.items()]
    fewer += ["data.public_speakers=3", "training.epochs=2", "attacks.repeats=[2]", "simulation.threads=1"]
    path = tmp_path_factory.mktemp("runs") / "example"
    return load_experiment(EXAMPLE, fewer).run(path), path


def test_the_example_says_what_a_method_gives_and_shows(example: tuple[dict[str, Any], Path]) -> None:
    result, _ = example
    for name in ("hidden-echo", "zero-states", "noised-embeddings", "embedding-mean", "clean"):
        row = result["methods"][name]
        assert row["wer"] >= 0
        assert row["wer_ci95"][0] <= row["wer"] <= row["wer_ci95"][1]
        assert row["sees"] != "nothing" or (row["bytes"], row["empirical_privacy"]) == ({"up": 0, "down": 0}, 1.0)
    assert result["methods"]["zero-states"]["against_zero-states"] is None
    assert result["methods"]["clean"]["empirical_privacy"] < result["methods"]["hidden-echo"]["empirical_privacy"]
    assert result["test"] == "held-out voices"


def test_the_example_pays_once_and_states_frame_and_recording(example: tuple[dict[str, Any], Path]) -> None:
    result, path = example
    _, charges = read_ledger(path / "ledger.jsonl")
    assert len(charges) == result["draws"] == 1
    frame, recording = (result["guarantees"][unit] for unit in ("frame", "recording"))
    assert recording["epsilon"] == pytest.approx(100 * frame["epsilon"])  # two seconds are at most 100 frames
    assert "summed over its frames" in recording["words"]
    assert "in name only" in recording["words"]
    assert "how long each is" in result["statement"]


def test_bytes_of_the_example_are_those_that_the_wire_counted(example: tuple[dict[str, Any], Path]) -> None:
    result, _ = example
    assert result["bytes"] == result["wire"]["payload"]
    assert min(result["bytes"].values()) > 0


def test_attacks_of_the_example_see_more_without_noise(example: tuple[dict[str, Any], Path]) -> None:
    attacks = example[0]["attacks"]
    assert set(attacks) == {
        "speaker", "clean speaker", "spectrum", "clean spectrum", "repeated-2 spectrum", "own head",
    }  # fmt: skip
    assert attacks["clean spectrum"]["success"] > 0.3
    assert attacks["clean spectrum"]["success"] > attacks["spectrum"]["success"]
    assert attacks["own head"]["of"] == "words"


def test_the_example_is_summed_up(example: tuple[dict[str, Any], Path]) -> None:
    summary = summarise(RunFolder.open(example[1]))
    assert [table.name for table in summary.tables] == ["split-methods", "split-attacks", "split-costs"]
    words = " ".join(summary.sentences)
    assert "points of word error rate" in words
    assert "calls over the wire" in words


def test_new_recordings_are_written_down_and_paid_for(example: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    run, recording = example[1], tmp_path / "call.flac"
    write_audio(recording, np.random.default_rng(0).normal(0, 0.1, 16_000).astype(np.float32))
    charged = len(read_ledger(run / "ledger.jsonl")[1])
    result = predict_split_speech(run, [recording], server=SplitServer())
    assert result["draws"] == charged + 1 == len(read_ledger(run / "ledger.jsonl")[1])
    (found,) = result["predictions"]
    assert found["text"] == "call.flac"
    assert set(found["label"].split()) <= set(load_experiment(EXAMPLE).data.vocabulary)
    write_audio(tmp_path / "long.flac", np.zeros(48_000, np.float32))
    with pytest.raises(DataError, match="longer than the window"):
        predict_split_speech(run, [tmp_path / "long.flac"], server=SplitServer())
    assert len(read_ledger(run / "ledger.jsonl")[1]) == charged + 1
    said = CliRunner().invoke(app, ["split", "predict", str(run), str(tmp_path / "no-such.wav")])
    assert said.exit_code != 0


@pytest.fixture(scope="module")
def emotions(data_root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every method on a few real recordings of two emotions, actors apart."""
    corpus = {"method": "emotional-speech", "path": str(data_root / "nemo"), "emotions": ["anger", "sadness"]}
    data = {"corpus": corpus, "target": "emotion", "window_s": 2.5, "train": 24, "test": 12, "public": 14}
    quick = [
        {"method": name, **({"epochs": 1} if any(field.name == "epochs" for field in fields(kind)) else {})}
        for name, kind in METHODS
    ]
    return experiment(
        data=data,
        model={"client_layers": 1, "layers": [1, 2], "reduction": 8},
        methods=quick,
        telemetry="debug",
        attacks={"attributes": ["speaker", "emotion"], "spectrum": False},
    ).run(tmp_path_factory.mktemp("runs") / "emotions")


def test_every_method_tells_emotions(emotions: dict[str, Any]) -> None:
    assert set(emotions["methods"]) == set(METHODS.names())
    for name, row in emotions["methods"].items():
        assert 0 <= row["auc"] <= 1, name
        assert (row["bytes"] == {"up": 0, "down": 0}) == (row["sees"] == "nothing"), name
    assert emotions["server"]["client_layers"] == 1
    assert emotions["test"] == "held-out speakers"
    assert emotions["attacks"]["own head"]["of"] == "emotion"
    assert emotions["attacks"]["clean speaker"]["success"] > emotions["attacks"]["speaker"]["success"]
    assert emotions["draws"] == 1


def test_a_run_that_goes_on_draws_nothing_again_and_a_private_one_measures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, path = experiment(), tmp_path / "run"
    with monkeypatch.context() as crash:
        crash.setattr("sordino.experiments.split_speech.running.save_corrector", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            options.run(path)
    kept = {file: file.read_bytes() for file in (path / "exchange").rglob("*.safetensors")}
    assert len(kept) == 3  # two draws, and the states of the training recordings
    result = options.run(path, resume=True)
    assert result["draws"] == 1
    assert all(file.read_bytes() == content for file, content in kept.items())
    assert result["methods"] == result["attacks"] == {}
    assert {file.name for file in (path / "model").iterdir()} == {
        "corrector.safetensors", "split.json", "public.safetensors", "units.json",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"training": "accounted"}, 'set training = "client-only"'),
        ({"methods": ["clean", "clean"]}, "name each once"),
        ({"server": {"place": "remote", "address": "x:1"}, "model": {}}, r"expected model\.layers"),
        ({"data": {**SMALL["data"], "units": "words"}}, "with 0 words in data.vocabulary"),
        ({"data": {**SMALL["data"], "public_speakers": 0}}, r"data\.public_speakers"),
        ({"attacks": {"attributes": ["speaker", "speaker"]}}, "name each once"),
        ({"privacy": {"unit": "token"}}, r"privacy\.unit"),
    ],
)
def test_options_that_do_not_go_together(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        experiment(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": {**SMALL["data"], "public_speakers": 6}}, "expected one of them at least"),
        ({"data": {**SMALL["data"], "target": "mood"}}, "'mood' is no attribute"),
        ({"data": {**SMALL["data"], "target": "split"}}, "at least two labels"),
        ({"data": {**SMALL["data"], "alphabet": "x"}}, "can be written"),
        ({"data": {**SMALL["data"], "target": "speaker"}}, "is not in both the training and the test recordings"),
        ({"data": {**SMALL["data"], "train": 1000}}, r"lower data\.train"),
        ({"telemetry": "debug", "attacks": {"attributes": ["gender"]}}, "'gender' is no attribute"),
        (
            {
                "telemetry": "debug",
                "data": {**SMALL["data"], "public_speakers": 5},
                "attacks": {"attributes": ["split"]},
            },
            "cannot be attacked",
        ),
        ({"model": {"client_layers": 3}}, "at least one for the server"),
        ({"model": {"layers": [4]}}, "different blocks between 1 and 3"),
        ({"model": {"reduction": 7}}, "a divisor of the width"),
        ({"model": {"source": "no/such/whisper"}}, r"model\.source"),
    ],
)
def test_what_cannot_be_run_leaves_no_folder(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises((ConfigError, DataError), match=words):
        experiment(**changes).run(tmp_path / "run")
    assert not (tmp_path / "run" / "config.toml").exists()
