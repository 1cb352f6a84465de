"""A miniature of the official folders of Multilingual LibriSpeech."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorder import found, kinds, prepared_by, record, truncate, write

from sordino.data import census, shared_speakers, splits_of
from sordino.data.sources.mls import MultilingualLibriSpeech
from sordino.errors import DataError


def split(place: Path, names: list[str], *, ending: str = "flac") -> Path:
    for name in names:
        speaker, book, _ = name.split("_")
        record(place / "audio" / speaker / book / f"{name}.{ending}")
    write(place / "transcripts.txt", "".join(f"{name}\tworte von {name}\n" for name in names))
    write(place / "segments.txt", "".join(f"{name}\thttp://example.org/{name}.mp3\t1.0\t1.5\n" for name in names))
    return place


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    german = tmp_path / "mls_german"
    split(german / "train", ["10_1_000000", "10_1_000001", "10_2_000002", "11_3_000003"])
    split(german / "dev", ["12_4_000000"])
    split(german / "test", ["13_5_000000", "10_6_000001"])
    limited = german / "train" / "limited_supervision"
    write(limited / "9hr" / "handles.txt", "10_1_000000\n10_2_000002\n")
    write(limited / "1hr" / "0" / "handles.txt", "10_1_000001\n")
    write(limited / "1hr" / "1" / "handles.txt", "11_3_000003\n")
    write(
        german / "metainfo.txt", " SPEAKER   |   GENDER   | PARTITION  | MINUTES \n10 | F | train | 9 \n12| M |dev| 1\n"
    )
    split(tmp_path / "mls_polish_opus" / "test", ["20_7_000000"], ending="opus")
    return tmp_path


def test_the_official_layout(corpus: Path) -> None:
    prepared = prepared_by(MultilingualLibriSpeech(), corpus)
    assert not prepared.left_out
    by_name = {utterance.audio.stem: utterance for utterance in prepared.utterances}
    assert len(prepared.utterances) == 8
    one = by_name["10_2_000002"]
    assert (one.text, one.speaker, one.language, one.duration_s) == ("worte von 10_2_000002", "10", "de", 0.5)
    assert one.attributes == {"split": "train", "book": "2", "gender": "female"}
    assert by_name["20_7_000000"].language == "pl"
    assert by_name["20_7_000000"].audio.suffix == ".opus"
    splits = splits_of(prepared)
    assert {name: len(utterances) for name, utterances in splits.items()} == {"dev": 1, "test": 3, "train": 4}
    assert shared_speakers(splits) == {("test", "train"): ("10",)}
    rows = {(row.split, row.language): (row.utterances, row.speakers, row.hours_per_speaker) for row in census(splits)}
    assert rows["test", "de"] == (2, 2, pytest.approx(0.5 / 3600))
    assert rows["test", "pl"] == (1, 1, pytest.approx(0.5 / 3600))
    assert rows["train", "de"] == (4, 2, pytest.approx(1.0 / 3600))


@pytest.mark.parametrize("part", ["", "mls_german", "mls_german/train"])
def test_any_of_its_folders_will_do(corpus: Path, part: str) -> None:
    utterances, _ = found(MultilingualLibriSpeech(), corpus / part)
    assert {u.audio.stem for u in utterances} >= {"10_1_000000", "11_3_000003"}
    assert {u.language for u in utterances if u.audio.stem == "10_1_000000"} == {"de"}


@pytest.mark.parametrize(
    ("limited", "train"),
    [
        ("9hr", {"10_1_000000", "10_2_000002"}),
        ("1hr", {"10_1_000001", "11_3_000003"}),
        ("1hr/1", {"11_3_000003"}),
        ("10hr", {"10_1_000000", "10_1_000001", "10_2_000002", "11_3_000003"}),
    ],
)
def test_limited_supervision_is_of_train_alone(corpus: Path, limited: str, train: set[str]) -> None:
    utterances, left_out = found(MultilingualLibriSpeech(limited=limited), corpus / "mls_german")
    assert {u.audio.stem for u in utterances if u.attributes["split"] == "train"} == train
    assert len([u for u in utterances if u.attributes["split"] != "train"]) == 3
    assert not left_out


def test_a_subset_that_is_not_there(corpus: Path) -> None:
    with pytest.raises(DataError, match=r"train has no limited_supervision/5hr .* choose 9hr"):
        found(MultilingualLibriSpeech(limited="5hr"), corpus)


def test_a_language_without_the_subset_is_neither_left_whole_nor_lost(corpus: Path) -> None:
    split(corpus / "mls_dutch" / "train", ["30_8_000000"])
    with pytest.raises(DataError, match=r"mls_dutch/train has no limited_supervision/9hr .* choose 9hr"):
        found(MultilingualLibriSpeech(limited="9hr"), corpus)
    write(corpus / "mls_dutch" / "train" / "limited_supervision" / "1hr" / "0" / "handles.txt", "30_8_000000\n")
    with pytest.raises(DataError, match=r"mls_dutch/train has no limited_supervision/9hr"):
        found(MultilingualLibriSpeech(limited="9hr"), corpus)
    assert len(found(MultilingualLibriSpeech(limited="1hr/0"), corpus)[0]) == 6


def test_corrupt_members(tmp_path: Path) -> None:
    train = split(tmp_path / "mls_dutch" / "train", [f"1_1_00000{i}" for i in range(6)])
    audio = train / "audio" / "1" / "1"
    truncate(audio / "1_1_000001.flac")
    (audio / "1_1_000002.flac").write_bytes(b"")
    (audio / "1_1_000003.flac").unlink()
    record(audio / "1_1_000004.flac", peak=0)
    record(audio / "1_1_000009.flac")
    lines = (train / "transcripts.txt").read_text()
    write(
        train / "transcripts.txt",
        "\ufeff" + lines.replace("\n", "\r\n") + "1_1_000000\tnogmaals\r\nodd\ttekst\r\n1_1_000005b\t\r\n",
    )
    prepared = prepared_by(MultilingualLibriSpeech(), tmp_path / "mls_dutch")
    assert [u.audio.stem for u in prepared.utterances] == ["1_1_000000", "1_1_000005"]
    assert prepared.utterances[0].text == "worte von 1_1_000000", "the first of two lines counts, without its CR"
    assert sorted((item.audio.name, item.kind) for item in prepared.left_out) == [
        ("1_1_000001.flac", "unreadable"),
        ("1_1_000002.flac", "unreadable"),
        ("1_1_000004.flac", "silent"),
        ("1_1_000009.flac", "transcript"),
        ("transcripts.txt", "duplicate"),
        ("transcripts.txt", "missing"),
        ("transcripts.txt", "name"),
        ("transcripts.txt", "name"),
    ]
    assert {item.reason for item in prepared.left_out} >= {
        "has 1_1_000003 in line 4, but there is no such recording",
        "has 1_1_000000 again in line 7; the first is used",
        "has 'odd' in line 8: expected SPEAKER_BOOK_NUMBER",
        "is not in transcripts.txt",
    }


def test_transcripts_that_are_no_utf8_are_refused_by_line(tmp_path: Path) -> None:
    train = split(tmp_path / "train", ["1_1_000000", "1_1_000001"])
    write(train / "transcripts.txt", "1_1_000000\tein\n1_1_000001\tf\xfcnf\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"transcripts\.txt, line 2 is not UTF-8"):
        found(MultilingualLibriSpeech(), tmp_path)


def test_a_tab_in_the_text_stays_in_it(tmp_path: Path) -> None:
    train = split(tmp_path / "train", ["1_1_000000"])
    write(train / "transcripts.txt", "1_1_000000\tein\tzwei\u2028drei\n")
    [utterance], _ = found(MultilingualLibriSpeech(language="de"), tmp_path)
    assert utterance.text == "ein\tzwei\u2028drei"
    assert utterance.language == "de"
    assert kinds(prepared_by(MultilingualLibriSpeech(), tmp_path)) == {}
