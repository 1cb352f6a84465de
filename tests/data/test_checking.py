from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.data import check_manifest, write_audio
from sordino.errors import DataError


def test_every_kind_of_problem_is_found_in_one_pass(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, seconds in (("a", 0.5), ("b", 0.5), ("long", 3.0), ("stale", 0.8)):
        write_audio(tmp_path / f"{name}.flac", rng.uniform(-0.1, 0.1, int(16_000 * seconds)).astype(np.float32))
    write_audio(tmp_path / "copy.flac", soundfile.read(tmp_path / "a.flac", dtype="float32")[0])
    write_audio(tmp_path / "silent.flac", np.zeros(8_000, np.float32))
    (tmp_path / "text.wav").write_text("no sound")
    (tmp_path / "empty.wav").touch()

    def line(audio: str, **fields: object) -> str:
        return json.dumps({"audio_filepath": audio, "duration": 0.5, "text": "one", "speaker": "s1"} | fields)

    (tmp_path / "m.jsonl").write_text(
        "\n".join(
            [
                line("a.flac", language="en"),
                line("b.flac", speaker="s2", text=" "),
                line("copy.flac"),
                line("silent.flac"),
                "not json",
                line("text.wav"),
                line("empty.wav"),
                line("long.flac", duration=3.0),
                line("b.flac", duration=0.3),
                line("long.flac", duration=1.0, offset=2.5),
                line("absent.wav"),
                line("stale.flac", duration=0.7),
            ]
        )
    )
    report = check_manifest(tmp_path / "m.jsonl", window_s=2.0)
    assert [(problem.line, problem.kind) for problem in report.problems] == [
        (2, "transcript"),
        (3, "duplicate"),
        (4, "silent"),
        (5, "json"),
        (6, "unreadable"),
        (7, "unreadable"),
        (8, "long"),
        (10, "duration"),
        (11, "missing"),
        (12, "duration"),
    ]
    assert all(";" in problem.message for problem in report.problems), "every problem has its remedy"
    assert report.kinds["unreadable"] == 2
    assert report.utterances == 10
    assert report.speakers == {"s1": 9, "s2": 1}
    assert report.languages == {"en": 1, "": 9}
    assert report.longest_s == 3.0
    assert report.median_s == 0.5
    assert report.durations == [7, 2, 0, 1, 0, 0, 0, 0]
    assert report.sample_rates == {16_000: 8}
    assert report.clips_per_speaker == {"min": 1, "median": 5, "max": 9}
    assert report.hours == pytest.approx((6 * 0.5 + 3.0 + 0.3 + 1.0 + 0.7) / 3600)


def test_overdriven_recordings_are_reported(tmp_path: Path) -> None:
    loud = np.clip(2 * np.sin(np.arange(16_000) / 10), -1, 1)
    takes = {"loud": loud, "fine": loud / 2, "touching": np.r_[1.0, -1.0, loud[2:] / 3]}
    for name, samples in takes.items():
        soundfile.write(tmp_path / f"{name}.wav", samples, 16_000)
    lines = [{"audio_filepath": f"{name}.wav", "duration": 1.0, "text": "a", "speaker": "s"} for name in takes]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [(p.line, p.kind) for p in check_manifest(tmp_path / "m.jsonl").problems] == [(1, "clipped")]


def test_an_empty_manifest_is_a_problem_and_an_absent_one_an_error(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text("\n\n")
    assert check_manifest(tmp_path / "m.jsonl").kinds == {"empty": 1}
    with pytest.raises(DataError, match="absent"):
        check_manifest(tmp_path / "absent.jsonl")


def test_real_recordings_are_sound(data_root: Path) -> None:
    report = check_manifest(data_root / "nemo" / "manifest.jsonl")
    assert report.problems == ()
    assert report.hours == pytest.approx(1044 / 3600, rel=0.01)
    assert report.languages == {"pl": 424}
