"""Recordings from a folder to a manifest and a summary of it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from calling import sordino, spawn


def tone(path: Path, pitch: int, *, gain: float = 0.1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.clip(gain * np.sin(np.arange(16_000) * pitch / 500), -1, 1), 16_000)
    path.with_suffix(".txt").write_text(f"tone {pitch}")


def test_a_folder_becomes_two_manifests_that_check_well(data_root: Path, tmp_path: Path) -> None:
    out = tmp_path / "my study"
    done = sordino("data", "prepare", "folder", data_root / "nemo", out, "--test-speakers", "2")
    assert "424 utterances, 0.29 h, 9 speakers: s1, s2" in done.stdout
    assert "to test on: held-out speakers" in done.stdout
    assert "54 texts are said both in train and in test, in 55 % of train and 98 % of test: " in done.stdout
    assert f"sordino data check '{out / 'train.jsonl'}'" in done.stdout
    checked = sordino("data", "check", out / "train.jsonl").stdout
    for text in ("speakers      7", "pl 336", "16000 Hz 336", "2 to 5 s", "no problem found"):
        assert text in checked
    report = json.loads(sordino("data", "check", out / "test.jsonl", "--window", "2", "--json", check=2).stdout)
    assert report["utterances"] == 88
    assert report["clips_per_speaker"] == {"min": 40, "median": 44, "max": 48}
    assert report["kinds"]["long"] == len(report["problems"])
    assert sum(report["durations"]) == 88
    assert report["sample_rates"] == {"16000": 88}


def test_what_is_left_out_is_said_and_written(tmp_path: Path) -> None:
    for pitch in range(5):
        tone(tmp_path / "in" / "Ann" / f"{pitch}.wav", pitch + 1)
        shutil.copy(tmp_path / "in" / "Ann" / "0.wav", tmp_path / "in" / "Ann" / f"copy {pitch}.wav")
        (tmp_path / "in" / "Ann" / f"copy {pitch}.txt").write_text("tone 0")
    tone(tmp_path / "in" / "Bo" / "loud.wav", 9, gain=5)
    done = sordino("data", "prepare", "folder", tmp_path / "in", tmp_path / "out", "--set", "language=en")
    assert "6 utterances" in done.stdout
    assert "left out 5 (duplicate):" in done.stdout
    assert "and 2 more" in done.stdout
    assert "kept 1 overdriven" in done.stdout
    lines = [json.loads(line) for line in (tmp_path / "out" / "left_out.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["duplicate"] * 5
    checked = sordino("data", "check", tmp_path / "out" / "manifest.jsonl", check=2)
    assert "1 clipped:" in checked.stdout
    again = sordino("data", "prepare", "folder", tmp_path / "in", tmp_path / "out", check=2)
    assert "already; name another folder" in again.stderr


def test_a_name_that_no_terminal_can_show_is_shown_escaped(tmp_path: Path) -> None:
    tone(tmp_path / "in" / "Ann" / "1.wav", 1)
    tone(tmp_path / "in" / "Ann" / "2.wav", 2)
    for ending in (".wav", ".txt"):
        (tmp_path / "in" / "Ann" / f"2{ending}").rename(tmp_path / "in" / "Ann" / (os.fsdecode(b"caf\xe9") + ending))
    done = sordino("data", "prepare", "folder", tmp_path / "in", tmp_path / "out")
    assert r"caf\udce9.wav has a name that is not UTF-8" in done.stdout


def test_only_the_first_problems_of_each_kind_are_shown(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text("nonsense\n" * 8)
    done = sordino("data", "check", tmp_path / "m.jsonl", check=2)
    assert "8 json:" in done.stdout
    assert done.stdout.count("  line ") == 3
    assert "and 5 more; --json lists them all" in done.stdout
    assert len(json.loads(sordino("data", "check", tmp_path / "m.jsonl", "--json", check=2).stdout)["problems"]) == 8


def test_a_layout_of_ones_own(tmp_path: Path) -> None:
    tone(tmp_path / "in" / "Ann_1.wav", 1)
    (tmp_path / "ours.py").write_text(
        "from dataclasses import dataclass\n"
        "from sordino.data import SOURCES, TO_END, Source, Utterance\n"
        "@SOURCES.register('by-name')\n"
        "@dataclass(frozen=True)\n"
        "class ByName(Source):\n"
        "    '''The speaker is the part of the name before the underscore.'''\n"
        "    def read(self, folder):\n"
        "        for file in sorted(folder.glob('*.wav')):\n"
        "            speaker, text = file.stem.split('_')\n"
        "            yield Utterance(audio=file, text=text, speaker=speaker, duration_s=TO_END)\n"
    )
    spawn("data", "prepare", "by-name", "in", "out", "--plugin", "ours", cwd=tmp_path)
    line = json.loads((tmp_path / "out" / "manifest.jsonl").read_text())
    assert line == {"audio_filepath": "../in/Ann_1.wav", "duration": 1.0, "text": "1", "speaker": "Ann"}


@pytest.fixture
def voices(tmp_path: Path) -> Path:
    """Multilingual LibriSpeech in miniature: speaker 1 is in train and in test, one recording is torn."""
    for split, names in (("train", ("1_1_0", "1_1_1", "2_1_0")), ("test", ("1_2_0", "3_1_0"))):
        for index, name in enumerate(names):
            speaker, book, _ = name.split("_")
            tone(tmp_path / "mls_german" / split / "audio" / speaker / book / f"{name}.flac", len(split) + index)
        lines = "".join(f"{name}\twort\n" for name in names)
        (tmp_path / "mls_german" / split / "transcripts.txt").write_text(lines)
    torn = tmp_path / "mls_german" / "test" / "audio" / "3" / "1" / "3_1_0.flac"
    torn.write_bytes(torn.read_bytes()[:3_000])
    return tmp_path / "mls_german"


def test_splits_clients_and_shared_speakers_of_a_corpus(voices: Path, tmp_path: Path) -> None:
    done = sordino("data", "prepare", "mls", voices, tmp_path / "out")
    assert "4 utterances, 0.0011 h, 2 speakers: 1, 2" in done.stdout
    table = [line.replace("│", " ").split() for line in done.stdout.splitlines() if " de " in line]
    assert table == [["test", "de", "1", "0.00028", "1", "0.00028"], ["train", "de", "3", "0.00083", "2", "0.00042"]]
    assert "1 speaker is both in test and in train: 1\n" in done.stdout
    assert "left out 1 (unreadable):" in done.stdout
    assert "headers" not in done.stdout
    assert f"sordino data check {tmp_path / 'out' / 'train.jsonl'}" in done.stdout
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"train.jsonl", "test.jsonl", "left_out.jsonl"}
    as_json = ("data", "prepare", "mls", voices, tmp_path / "again", "--json")
    report = json.loads(sordino(*as_json).stdout)
    assert report["shared_speakers"] == [{"splits": ["test", "train"], "speakers": ["1"]}]
    assert [row["speakers"] for row in report["clients"]] == [1, 2]
    assert report["clients"][1]["hours_per_speaker"] == pytest.approx(1.5 / 3600)
    assert report["listened"] is True
    checked = json.loads(sordino("data", "check", tmp_path / "out" / "train.jsonl", "--json").stdout)
    assert checked["clients"] == [report["clients"][1]]


def test_headers_alone_are_said_to_be_all_that_was_read(tmp_path: Path) -> None:
    tone(tmp_path / "in" / "Ann" / "mute.wav", 1, gain=0)
    done = sordino("data", "prepare", "folder", tmp_path / "in", tmp_path / "out", "--quick")
    assert "only headers were read: silence, overdrive, copies and damage" in done.stdout
    report = json.loads(
        sordino("data", "prepare", "folder", tmp_path / "in", tmp_path / "o", "--quick", "--json").stdout
    )
    assert (report["listened"], report["clipped"], report["utterances"]) == (False, None, 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["foldr", "in", "out"], "did you mean 'folder'"),
        (["folder", "absent", "out"], "absent is not there"),
        (["folder", "in", "out", "--set", "langauge=en"], "did you mean 'language'"),
        (["folder", "in", "out", "--set", "language"], "expected key=value"),
        (["folder", "in", "out", "--set", "speaker_level=0"], "speaker_level"),
        (["folder", "in", "out", "--test-speakers", "1", "--test-fraction", "0.5"], "both given"),
        (["folder", "in", "out", "--test-speakers", "1"], "1 test speakers of 1"),
        (["folder", "in", "out", "--test-fraction", "1.5"], "--test-fraction"),
        (["folder", "in", "in/Ann/1.wav"], "is a file"),
        (["folder", "in", "out", "--window", "nan"], "--window"),
        (["folder", "in", "out", "--window", "-1"], "--window = -1.0: expected a number above 0"),
        (["kaldi", "in", "out"], "no wav.scp"),
        (["kaldi", "in/Ann/1.wav", "out"], "is a file, not a folder"),
        (["mls", "in", "out"], "no split with a transcripts.txt"),
        (["commonvoice", "absent", "out"], "absent is not there"),
        (["commonvoice", "in", "out"], "no clips folder"),
        (["audiofolder", "in", "out"], "no metadata.csv"),
        (["huggingface", "/absent", "out"], "/absent is not there"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake(arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tone(tmp_path / "in" / "Ann" / "1.wav", 1)
    monkeypatch.chdir(tmp_path)
    done = sordino("data", "prepare", *arguments, check=2)
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_every_verb_shows_an_example_and_layouts_are_listed() -> None:
    for verb in (["data", "prepare"], ["data", "check"], ["init"], ["transcribe"]):
        assert "Example" in spawn(*verb, "--help").stdout
    assert "Folder of the recordings," in sordino("data", "prepare", "--help").stdout, "arguments are explained too"
    assert {"folder", "fsdd", "librispeech"} <= set(json.loads(sordino("list", "--json").stdout)["data prepare"])
