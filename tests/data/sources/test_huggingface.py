"""Data sets of the hub without the hub: saved ones, folders of Parquet files, and an id from the cache alone."""

from __future__ import annotations

import builtins
import gc
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import pytest
from pyarrow import parquet as parquet_files
from recorder import kinds, prepared_by, record, truncate

from sordino.data import Utterance, splits_of
from sordino.data.sources.huggingface import HuggingFace
from sordino.errors import ConfigError, DataError


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    """A cache of the test's own and no network."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hub")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def made(place: Path, names: Sequence[str], **more: Any) -> Any:
    """A data set as the hub has them: encoded recordings inside its tables."""
    place.mkdir(parents=True, exist_ok=True)
    features = datasets.Features(
        {
            "audio": {"bytes": datasets.Value("binary"), "path": datasets.Value("string")},
            "sentence": datasets.Value("string"),
            "speaker_id": datasets.Value("int64"),
            "duration": datasets.Value("float64"),
            "gender": datasets.ClassLabel(names=["male", "female"]),
        }
    )
    rows = {
        "audio": [{"bytes": (place / name).read_bytes(), "path": name} for name in names],
        "sentence": [f"said in {name}" for name in names],
        "speaker_id": [100 + index // 2 for index in range(len(names))],
        "duration": [0.5] * len(names),
        "gender": [index % 2 for index in range(len(names))],
    } | more
    data = datasets.Dataset.from_dict(rows, features=features)
    return data.cast_column("audio", datasets.Audio(decode=False))


@pytest.fixture
def both(tmp_path: Path) -> Any:
    raw = tmp_path / "raw"
    train = [record(raw / name).name for name in ("1.flac", "2.wav", "3.mp3")]
    test = [record(raw / name).name for name in ("4.flac",)]
    return datasets.DatasetDict(train=made(raw, train), test=made(raw, test))


@pytest.fixture
def parquet(both: Any, tmp_path: Path) -> Path:
    for split, data in both.items():
        (tmp_path / "voices" / "data").mkdir(parents=True, exist_ok=True)
        data.to_parquet(tmp_path / "voices" / "data" / f"{split}-00000-of-00001.parquet")
    return tmp_path / "voices"


def expected(utterances: Sequence[Utterance], raw: Path) -> None:
    assert [(u.text, u.speaker, dict(u.attributes)) for u in utterances] == [
        ("said in 1.flac", "100", {"gender": "male", "split": "train"}),
        ("said in 2.wav", "100", {"gender": "female", "split": "train"}),
        ("said in 3.mp3", "101", {"gender": "male", "split": "train"}),
        ("said in 4.flac", "100", {"gender": "male", "split": "test"}),
    ]
    assert [u.audio.suffix for u in utterances] == [".flac", ".wav", ".mp3", ".flac"]
    for utterance, name in zip(utterances, ("1.flac", "2.wav", "3.mp3", "4.flac"), strict=True):
        assert utterance.audio.read_bytes() == (raw / name).read_bytes(), "recordings are copied, never encoded again"


def test_a_saved_data_set(both: Any, tmp_path: Path) -> None:
    both.save_to_disk(tmp_path / "saved")
    prepared = prepared_by(HuggingFace(audio=tmp_path / "audio"), tmp_path / "saved")
    expected(prepared.utterances, tmp_path / "raw")
    assert list(splits_of(prepared)) == ["train", "test"]
    assert all(u.audio.is_relative_to(tmp_path / "audio") for u in prepared.utterances)


def test_a_folder_of_parquet_files_and_only_one_split(parquet: Path, tmp_path: Path, cache: Path) -> None:
    for _ in range(2):  # what was written the first time is used the second
        prepared = prepared_by(HuggingFace(), parquet)
        expected(prepared.utterances, tmp_path / "raw")
    assert all(u.audio.is_relative_to(cache) for u in prepared.utterances)
    assert len([file for file in cache.rglob("*") if file.is_file()]) == 4
    one = prepared_by(HuggingFace(split="test", language="en"), parquet)
    assert [(u.text, u.language) for u in one.utterances] == [("said in 4.flac", "en")]
    with pytest.raises(ConfigError, match=r"split 'dev' is not in .*; choose among train, test"):
        prepared_by(HuggingFace(split="dev"), parquet)


def test_an_id_from_the_cache_alone(parquet: Path, tmp_path: Path, offline: Path) -> None:
    prepared_by(HuggingFace(), parquet)
    (offline / "voices").rename(offline / "lab___voices")
    prepared = prepared_by(HuggingFace(), Path("lab/voices"))
    expected(prepared.utterances, tmp_path / "raw")


def test_recordings_that_are_files_of_their_own(tmp_path: Path) -> None:
    record(tmp_path / "in" / "train" / "1.wav")
    (tmp_path / "in" / "train" / "metadata.csv").write_text("file_name,transcription,speaker\n1.wav,one,s\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the library leaves the table open
        with pytest.raises(DataError, match=r"files of their own, .*; sordino data prepare audiofolder /.*/in OUT"):
            prepared_by(HuggingFace(), tmp_path / "in")
        gc.collect()


def test_what_the_tables_refer_to_stays_where_it_is(tmp_path: Path, cache: Path) -> None:
    record(tmp_path / "raw" / "1.wav")
    here = [{"bytes": None, "path": str(tmp_path / "raw" / "1.wav")}]
    (tmp_path / "in").mkdir()
    table = made(tmp_path / "raw", ["1.wav"], audio=here).data.table
    parquet_files.write_table(table, tmp_path / "in" / "train.parquet")
    [utterance] = prepared_by(HuggingFace(), tmp_path / "in").utterances
    assert utterance.audio == tmp_path / "raw" / "1.wav"
    assert not cache.exists()


def test_corrupt_members(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    for name in ("good.flac", "torn.flac", "page.flac", "none.flac", "mute.wav"):
        record(raw / name, peak=0 if name == "mute.wav" else 0.1)
    truncate(raw / "torn.flac")
    (raw / "page.flac").write_text("<html>")
    (raw / "none.flac").write_bytes(b"")
    names = ["good.flac", "torn.flac", "page.flac", "none.flac", "mute.wav", "good.flac"]
    data = made(raw, names, gender=[-1] * 6)
    data.save_to_disk(tmp_path / "saved")
    prepared = prepared_by(HuggingFace(), tmp_path / "saved")
    assert [(u.text, dict(u.attributes)) for u in prepared.utterances] == [("said in good.flac", {})]
    assert kinds(prepared) == {
        "0000001.flac": "unreadable",
        "0000002": "unreadable",
        "0000003": "unreadable",
        "0000004.wav": "silent",
        "0000005.flac": "duplicate",
    }


def test_nothing_is_written_outside_the_cache_whatever_a_data_set_says(both: Any, tmp_path: Path, cache: Path) -> None:
    both["train"].save_to_disk(tmp_path / "saved")
    state = tmp_path / "saved" / "state.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"_fingerprint": str(tmp_path / "outside")}))
    assert all(u.audio.is_relative_to(cache) for u in prepared_by(HuggingFace(), tmp_path / "saved").utterances)
    both.save_to_disk(tmp_path / "two")
    (tmp_path / "two" / "dataset_dict.json").write_text('{"splits": ["../two/train"]}')
    with pytest.raises(DataError, match=r"calls a split '\.\./two/train': expected a plain name"):
        prepared_by(HuggingFace(), tmp_path / "two")
    assert not (tmp_path / "outside").exists()


def test_no_recording_of_another_data_set_is_overwritten(both: Any, tmp_path: Path) -> None:
    both.save_to_disk(tmp_path / "saved")
    other = tmp_path / "audio" / "train" / "0000000.flac"
    content = record(other).read_bytes()
    with pytest.raises(DataError, match=r"0000000\.flac is another recording .* --set audio="):
        prepared_by(HuggingFace(audio=tmp_path / "audio"), tmp_path / "saved")
    assert other.read_bytes() == content


@pytest.mark.parametrize(
    ("dropped", "said"),
    [
        ("speaker_id", "speaker .*speaker_column="),
        ("sentence", "text .*text_column="),
        ("audio", "none of which is audio"),
    ],
)
def test_a_data_set_without_what_is_needed(both: Any, tmp_path: Path, dropped: str, said: str) -> None:
    both["train"].remove_columns(dropped).save_to_disk(tmp_path / "saved")
    with pytest.raises(DataError, match=said):
        prepared_by(HuggingFace(), tmp_path / "saved")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"split": "train"}, r"split 'train' is not in .*; it has none, so leave split out"),
        ({"subset": "de"}, r"subset = 'de', but .*/saved holds one data set; leave subset out"),
        ({"speaker_column": "who"}, r"the data set has the columns audio, .* speaker \(who\)"),
    ],
)
def test_an_option_that_a_saved_data_set_has_no_use_for(
    both: Any, tmp_path: Path, option: dict[str, Any], said: str
) -> None:
    both["train"].save_to_disk(tmp_path / "saved")
    with pytest.raises((ConfigError, DataError), match=said):
        prepared_by(HuggingFace(**option), tmp_path / "saved")


@pytest.mark.parametrize("name", ["lab/absent", "absent", "a b c", "../absent"])
def test_an_id_that_leads_nowhere(name: str) -> None:
    with pytest.raises(DataError, match=r"data set '.*' cannot be loaded \(.+\); check the id"):
        prepared_by(HuggingFace(), Path(name))


def test_a_file_an_empty_folder_and_a_damaged_copy(tmp_path: Path, parquet: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder, said in (("empty", "is empty"), ("raw/1.flac", "is a file"), ("nothing", "is not there")):
        with pytest.raises(DataError, match=said):
            prepared_by(HuggingFace(), tmp_path / folder)
    truncate(parquet / "data" / "train-00000-of-00001.parquet")
    with pytest.raises(DataError, match="cannot be loaded"):
        prepared_by(HuggingFace(), parquet)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def lacking(name: str, *rest: Any, **more: Mapping[str, Any]) -> Any:
        if name.partition(".")[0] in ("datasets", "pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(ConfigError, match=r"pip install 'sordino\[hub\]'"):
        prepared_by(HuggingFace(), tmp_path)
