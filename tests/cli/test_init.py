"""From a folder of recordings to an experiment that runs, and from its model to a transcript."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path

import pytest
import soundfile
from calling import sordino

from sordino.experiments import load_experiment


def own_recordings(data_root: Path, folder: Path, *, speakers: int, clips: int = 3) -> Path:
    """Short clips of nEMO in a folder for each speaker, a text file beside each, with names as people give them."""
    taken: dict[str, int] = {}
    for line in (data_root / "nemo" / "manifest.jsonl").read_text().splitlines():
        row = json.loads(line)
        speaker = row["speaker"]
        full = taken.get(speaker, 0) == clips or (speaker not in taken and len(taken) == speakers)
        if full or row["duration"] > 1.95:
            continue
        taken[speaker] = taken.get(speaker, 0) + 1
        place = folder / f"Żółć {speaker}" / f"clip no. {taken[speaker]}.flac"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data_root / "nemo" / row["audio_filepath"], place)
        place.with_suffix(".txt").write_text(row["raw_text"], encoding="utf-8")
    return folder


@pytest.mark.slow
def test_own_recordings_from_folder_to_transcript(
    data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings = own_recordings(data_root, tmp_path / "my recordings", speakers=6)
    (recordings / "Żółć s1" / "broken.wav").write_text("no sound")
    (recordings / "Żółć s1" / "broken.txt").write_text("nothing")
    monkeypatch.chdir(tmp_path)
    done = sordino("init", "study/Zoë B", "--audio", "my recordings", "--language", "pl", "--epsilon", "4")
    file = tmp_path / "study" / "Zoë B" / "experiment.toml"
    for said in (
        "left out 1 (unreadable):",
        "1 of 6 speakers are held out",
        "are no digits",
        "takes about",
        "wrote ",
        "run 'study/",
    ):
        assert said in done.stdout
    assert sorted(path.name for path in file.parent.iterdir()) == [
        "experiment.toml",
        "left_out.jsonl",
        "manifest.jsonl",
    ]

    monkeypatch.chdir("/")
    options = load_experiment(file)
    assert options.privacy.population == 5
    assert options.privacy.epsilon == 4
    assert options.telemetry == "private"
    quick = ("federated.rounds=1", "federated.local.epochs=1", "evaluation.every=0", "simulation.threads=1")
    settings = [part for setting in quick for part in ("--set", setting)]
    result = json.loads(sordino("run", file, *settings, "--out", tmp_path / "run", "--json").stdout)
    assert result["wer"]["test_is"] == "held-out speakers"
    assert result["epsilon"]["pld"] <= 4

    heard = sordino("transcribe", tmp_path / "run", recordings / "Żółć s2", "--json").stdout.splitlines()
    lines = [json.loads(line) for line in heard]
    assert [Path(line["path"]).name for line in lines] == [f"clip no. {number}.flac" for number in (1, 2, 3)]
    assert all(set(line) == {"path", "text", "duration_s", "truncated"} for line in lines)
    assert lines[0]["duration_s"] == pytest.approx(soundfile.info(lines[0]["path"]).duration, abs=1e-3)


def test_few_speakers_keep_their_clips_and_hear_why(data_root: Path, tmp_path: Path) -> None:
    recordings = own_recordings(data_root, tmp_path / "in", speakers=3)
    result = json.loads(sordino("init", tmp_path / "x", "--audio", recordings, "--json").stdout)
    assert result["population"] == 3
    assert "fewer than 5, nobody can be spared" in result["notes"][0]
    assert any('telemetry = "debug"' in note for note in result["notes"])
    assert result["population_needed"] > 100
    text = (tmp_path / "x" / "experiment.toml").read_text()
    assert "is measured on training speakers here" in text
    assert "rate = 1.0" in text


def test_without_recordings_it_is_the_default_job(tmp_path: Path) -> None:
    done = sordino("init", tmp_path / "first")
    assert "That leaves room to learn" in done.stdout
    default = load_experiment(None, ["privacy.delta=1e-5"])
    made = load_experiment(tmp_path / "first" / "experiment.toml", ["privacy.delta=1e-5"])
    assert made == default, "comments are all that is new"


def test_a_manifest_is_referred_to_where_it_is(
    data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = data_root / "fsdd" / "manifest.jsonl"
    monkeypatch.chdir(data_root / "fsdd")
    result = json.loads(sordino("init", tmp_path / "d", "--manifest", "manifest.jsonl", "--json").stdout)
    assert result["population"] == 5
    assert not any("digits" in note for note in result["notes"])
    corpus = load_experiment(tmp_path / "d" / "experiment.toml").data.corpus
    assert corpus.train.resolve() == manifest.resolve()  # type: ignore[attr-defined]
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["experiment.toml"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--data", "voice"], "did you mean 'voices'"),
        (["--data", "folder"], "needs --audio"),
        (["--data", "voices", "--audio", "in"], "does not go with --audio"),
        (["--audio", "in", "--manifest", "m.jsonl"], "both given"),
        (["--audio", "absent"], "absent is not there"),
        (["--audio", "empty"], "no file at all"),
        (["--audio", "in"], "no transcript"),
        (["--manifest", "absent.jsonl"], "absent.jsonl cannot be read"),
        (["--epsilon", "0"], "epsilon = 0"),
        (["--epsilon", "nan"], "epsilon = nan"),
        (["--model", "/no/such/model"], "/no/such/model"),
        (["--encoder", "absent"], "model.decoder is missing"),
        (["--audoi", "in"], "--audio"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_leaves_nothing_behind(
    flags: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "in").mkdir()
    soundfile.write(tmp_path / "in" / "a.wav", [0.1, -0.1] * 4000, 16_000)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    done = sordino("init", "new/deep", *flags, check=2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text("mine")
    assert "nothing is ever overwritten" in sordino("init", tmp_path, check=2).stderr
    assert (tmp_path / "experiment.toml").read_text() == "mine"


def test_clips_longer_than_the_model_hears(data_root: Path, tmp_path: Path) -> None:
    done = sordino("init", tmp_path / "x", "--manifest", data_root / "librispeech-10" / "manifest.jsonl", check=2)
    assert "every recording is longer than the 2 s that the model hears at once" in done.stderr
    assert "--encoder" in done.stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_questions_at_a_terminal(data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recordings = own_recordings(data_root, tmp_path / "in", speakers=2)
    monkeypatch.setattr(sys, "stdin", Terminal(f"tape\nfolder\n{recordings}\npl\n\n2.5\n"))
    done = sordino("init", tmp_path / "x")
    assert "Whose recordings?" in done.stderr
    assert "select one of the available options" in done.stderr
    assert load_experiment(tmp_path / "x" / "experiment.toml").privacy.epsilon == 2.5
