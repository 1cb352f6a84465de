"""Hugging Face's audiofolder in the arrangements that its documentation shows."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet
from recorder import found, kinds, prepared_by, record, truncate, write

from sordino.data import splits_of
from sordino.data.sources.audiofolder import AudioFolder
from sordino.errors import DataError

ROWS = [
    {"file_name": "1.mp3", "transcription": "one, two", "speaker_id": 7, "accent": "north"},
    {"file_name": "2.flac", "transcription": 'say "two"', "speaker_id": 8, "accent": "south"},
]


def table(place: Path, kind: str, rows: list[dict[str, object]] = ROWS, *, prefix: str = "") -> Path:
    rows = [{**row, "file_name": f"{prefix}{row['file_name']}"} for row in rows]
    if kind == "csv":
        quoted = [",".join('"{}"'.format(str(value).replace('"', '""')) for value in row.values()) for row in rows]
        return write(place / "metadata.csv", "\n".join([",".join(rows[0]), *quoted]) + "\n")
    if kind == "jsonl":
        return write(place / "metadata.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    place.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), place / "metadata.parquet")
    return place / "metadata.parquet"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_table_in_the_folder_of_each_split(tmp_path: Path, kind: str) -> None:
    for split in ("train", "validation", "test"):
        for row in ROWS:
            record(tmp_path / "data" / split / str(row["file_name"]))
        table(tmp_path / "data" / split, kind)
    prepared = prepared_by(AudioFolder(language="en"), tmp_path)
    assert not prepared.left_out
    first = next(u for u in prepared.utterances if u.attributes["split"] == "validation")
    assert (first.text, first.speaker, first.language) == ("one, two", "7", "en")
    assert first.attributes == {"accent": "north", "split": "validation"}
    assert {u.text for u in prepared.utterances} == {"one, two", 'say "two"'}
    assert {name: len(each) for name, each in splits_of(prepared).items()} == {"test": 2, "train": 2, "validation": 2}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_one_table_for_all(tmp_path: Path, kind: str) -> None:
    for row in ROWS:
        record(tmp_path / "train" / str(row["file_name"]))
    table(tmp_path, kind, prefix="train/")
    utterances, left_out = found(AudioFolder(), tmp_path)
    assert [(u.speaker, u.attributes["split"]) for u in utterances] == [("7", "train"), ("8", "train")]
    assert not left_out


def test_without_splits(tmp_path: Path) -> None:
    for row in ROWS:
        record(tmp_path / str(row["file_name"]))
    table(tmp_path, "csv")
    assert list(splits_of(prepared_by(AudioFolder(), tmp_path))) == ["manifest"]


def test_folders_are_never_taken_for_speakers(tmp_path: Path) -> None:
    record(tmp_path / "train" / "1.mp3")
    write(tmp_path / "metadata.csv", "file_name,transcription,who\ntrain/1.mp3,one,Ann\n")
    with pytest.raises(DataError, match=r"file_name, transcription, who, none of which .* speaker .*speaker_column="):
        found(AudioFolder(), tmp_path)
    assert found(AudioFolder(speaker_column="who"), tmp_path)[0][0].speaker == "Ann"


def test_corrupt_members(tmp_path: Path) -> None:
    truncate(record(tmp_path / "train" / "torn.wav"))
    record(tmp_path / "train" / "extra.wav")
    record(tmp_path / "train" / "good.wav")
    record(tmp_path / "train" / "nobody.wav")
    (tmp_path / "train" / "empty.wav").touch()
    rows = [
        {"file_name": f"{name}.wav", "transcription": "x", "speaker": "" if name == "nobody" else "s"}
        for name in ("torn", "good", "empty", "gone", "good", "nobody")
    ]
    table(tmp_path / "train", "jsonl", rows)
    prepared = prepared_by(AudioFolder(), tmp_path)
    assert [u.audio.name for u in prepared.utterances] == ["good.wav"]
    assert kinds(prepared) == {
        "torn.wav": "unreadable",
        "empty.wav": "unreadable",
        "gone.wav": "missing",
        "good.wav": "duplicate",
        "nobody.wav": "speaker",
        "extra.wav": "unlisted",
    }


def test_a_damaged_parquet_table(tmp_path: Path) -> None:
    record(tmp_path / "1.mp3")
    write(tmp_path / "metadata.parquet", b"PAR1 and nothing")
    with pytest.raises(DataError, match=r"cannot be read as a Parquet table \("):
        found(AudioFolder(), tmp_path)
