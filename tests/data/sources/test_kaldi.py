"""Kaldi data folders: files, segments, and commands that must never run."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorder import found, prepared_by, record, truncate, write

from sordino.data import LeftOut, read_manifest, splits_of, write_prepared
from sordino.data.sources.kaldi import Kaldi
from sordino.errors import DataError


def data_folder(place: Path, names: list[str]) -> Path:
    for name in names:
        record(place / "wav" / f"{name}.wav", rate=8_000)
    write(place / "wav.scp", "".join(f"{name} wav/{name}.wav\n" for name in names))
    write(place / "text", "".join(f"{name} said by {name}\n" for name in names))
    write(place / "utt2spk", "".join(f"{name} {name[0]}\n" for name in names))
    write(place / "spk2gender", "a f\nb m\n")
    return place


def reasons(source: Kaldi, folder: Path) -> dict[str, str]:
    return {item.kind: item.reason for item in source.read(folder) if isinstance(item, LeftOut)}


def test_a_data_folder_and_the_folder_above(tmp_path: Path) -> None:
    data_folder(tmp_path / "data" / "train", ["a-1", "a-2", "b-1"])
    data_folder(tmp_path / "data" / "test", ["c-1"])
    prepared = prepared_by(Kaldi(language="pl"), tmp_path / "data")
    assert not prepared.left_out
    assert [(u.text, u.speaker, u.language, u.duration_s, dict(u.attributes)) for u in prepared.utterances] == [
        ("said by c-1", "c", "pl", 0.5, {"split": "test"}),
        ("said by a-1", "a", "pl", 0.5, {"split": "train", "gender": "female"}),
        ("said by a-2", "a", "pl", 0.5, {"split": "train", "gender": "female"}),
        ("said by b-1", "b", "pl", 0.5, {"split": "train", "gender": "male"}),
    ]
    assert list(splits_of(prepared)) == ["test", "train"]
    write_prepared(prepared, tmp_path / "out")
    assert [u.text for u in read_manifest(tmp_path / "out" / "test.jsonl")] == ["said by c-1"]
    alone = prepared_by(Kaldi(), tmp_path / "data" / "train")
    assert list(splits_of(alone)) == ["manifest"]


def test_segments_are_pieces_of_recordings(tmp_path: Path) -> None:
    place = data_folder(tmp_path, ["a-1"])
    record(place / "wav" / "call.wav", seconds=3)
    write(place / "wav.scp", f"call\t{place / 'wav' / 'call.wav'}\r\n")
    write(place / "segments", "a-1 call 0.25 1.0\na-2 call 1.5 -1\nb-3 call 2.0 9.0\n")
    write(place / "text", "a-1 one\na-2 two\nb-3 three\n")
    write(place / "utt2spk", "a-1 a\na-2 a\nb-3 b\n")
    prepared = prepared_by(Kaldi(), place)
    assert not prepared.left_out
    assert [(u.text, u.offset_s, u.duration_s) for u in prepared.utterances] == [
        ("one", 0.25, 0.75),
        ("two", 1.5, 1.5),
        ("three", 2.0, 1.0),
    ]


def test_recordings_without_a_segment_are_told(tmp_path: Path) -> None:
    place = data_folder(tmp_path, ["a-1", "a-2"])
    write(place / "segments", "a-1 a-1 0 0.25\n")
    left_out = prepared_by(Kaldi(), place).left_out
    assert [(item.kind, item.reason) for item in left_out] == [
        ("missing", "has a-2, for which there is no recording"),
        ("unlisted", "has a-2, of which segments names no piece"),
    ]


def test_a_command_is_refused_and_never_run(tmp_path: Path) -> None:
    place = data_folder(tmp_path, ["a-1", "a-2", "a-3"])
    trace = tmp_path / "trace"
    write(place / "wav.scp", f"a-1 touch {trace} && cat wav/a-1.wav |\na-2 | touch {trace}\na-3 wav/a-3.wav\n")
    items = list(Kaldi().read(place))
    pipes = [item for item in items if isinstance(item, LeftOut)]
    assert [item.kind for item in pipes] == ["pipe", "pipe"]
    assert all("never run; write its output to a WAV or FLAC file" in item.reason for item in pipes)
    assert "a-1" in pipes[0].reason
    assert not trace.exists()
    write(place / "wav.scp", f"a-1 touch {trace} |\n")
    with pytest.raises(DataError, match=r"1 pipe .*shell command for a-1 .*never run"):
        prepared_by(Kaldi(), place)
    assert not trace.exists()


def test_paths_start_where_the_user_says(tmp_path: Path) -> None:
    place = data_folder(tmp_path / "data" / "train", ["a-1"])
    (place / "wav").rename(tmp_path / "wav")
    assert "say where relative paths start with --set root=" in reasons(Kaldi(), place)["missing"]
    assert len(found(Kaldi(root=tmp_path), place)[0]) == 1


def test_corrupt_members(tmp_path: Path) -> None:
    place = data_folder(tmp_path, [f"a-{index}" for index in range(8)])
    record(place / "wav" / "a-1.flac")
    truncate(place / "wav" / "a-1.flac")
    (place / "wav" / "a-2.wav").write_bytes(b"")
    write(
        place / "wav.scp",
        (place / "wav.scp").read_text().replace("a-1.wav", "a-1.flac").replace("wav/a-3.wav", "raw.ark:17"),
    )
    with (place / "wav.scp").open("a") as file:
        file.write("a-0 wav/a-7.wav\n")
    write(place / "text", "\ufeffa-0 zero\na-1 one\na-2 two\na-3 three\na-4 four\na-5\na-7 seven\nz-9 nobody\n")
    write(place / "utt2spk", "a-0 a\na-1 a\na-2 a\na-3 a\na-5 a\na-6 a\na-7 a\n")
    prepared = prepared_by(Kaldi(), place)
    assert [u.text for u in prepared.utterances] == ["zero", "seven"]
    assert sorted((item.audio.name, item.kind) for item in prepared.left_out) == [
        ("a-1.flac", "unreadable"),
        ("a-2.wav", "unreadable"),
        ("a-4.wav", "speaker"),
        ("a-5.wav", "transcript"),
        ("a-6.wav", "transcript"),
        ("text", "missing"),
        ("wav.scp", "archive"),
        ("wav.scp", "duplicate"),
    ]


@pytest.mark.parametrize(
    ("segment", "kind", "said"),
    [
        ("a-1 a-1 x 1.0", "piece", "without start and end in seconds"),
        ("a-1 a-1 0.4", "piece", "without start and end"),
        ("a-1 a-1 0.4 0.2", "piece", r"empty piece for a-1 in segments, from 0.4 to 0.2 s"),
        ("a-1 a-1 nan 1", "piece", "empty piece"),
        ("a-1 a-1 0 1 A", "channel", "has a channel for a-1"),
        ("a-1 b-9 0 1", "missing", "in 'b-9', which wav.scp does not name"),
        ("a-1", "missing", "in '', which wav.scp does not name"),
    ],
)
def test_segments_that_say_nothing_usable(tmp_path: Path, segment: str, kind: str, said: str) -> None:
    place = data_folder(tmp_path, ["a-1"])
    write(place / "segments", segment + "\n")
    assert said in reasons(Kaldi(), place)[kind]


@pytest.mark.parametrize(
    ("name", "said"), [("text", "has no text"), ("utt2spk", "no utt2spk"), ("wav.scp", "no wav.scp")]
)
def test_a_folder_without_one_of_its_files(tmp_path: Path, name: str, said: str) -> None:
    (data_folder(tmp_path, ["a-1"]) / name).unlink()
    with pytest.raises(DataError, match=said):
        found(Kaldi(), tmp_path)


def test_a_text_that_is_no_utf8_is_refused_by_line(tmp_path: Path) -> None:
    write(data_folder(tmp_path, ["a-1"]) / "text", b"a-1 f\xfcnf\n")
    with pytest.raises(DataError, match=r"text, line 1 is not UTF-8"):
        found(Kaldi(), tmp_path)
