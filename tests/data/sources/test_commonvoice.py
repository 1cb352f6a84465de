"""A miniature of Common Voice's folders, with real MP3 files."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorder import found, kinds, prepared_by, record, truncate, write

from sordino.data import shared_speakers, splits_of
from sordino.data.sources.commonvoice import CommonVoice
from sordino.errors import DataError

COLUMNS = (
    *("client_id", "path", "sentence_id", "sentence", "sentence_domain", "up_votes", "down_votes"),
    *("age", "gender", "accents", "variant", "locale", "segment"),
)
HEADING = "\t".join(COLUMNS) + "\n"


def row(client: str, path: str, sentence: str, *, locale: str = "de") -> str:
    return f"{client}\t{path}\tid\t{sentence}\t\t2\t0\ttwenties\tmale_masculine\tSchweizerdeutsch\t\t{locale}\t\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    german = tmp_path / "cv-corpus-21.0" / "de"
    for index in range(5):
        record(german / "clips" / f"common_voice_de_{index}.mp3", rate=32_000)
    rows = [
        row("aaa", "common_voice_de_0.mp3", '"Ja, sagte er.'),
        row("aaa", "common_voice_de_1.mp3", "Zwei."),
        row("bbb", "common_voice_de_2.mp3", "Drei."),
        row("ccc", "common_voice_de_3.mp3", "Vier."),
    ]
    write(german / "train.tsv", HEADING + rows[0] + rows[1])
    write(german / "dev.tsv", HEADING + rows[2])
    write(german / "test.tsv", HEADING + rows[3])
    write(german / "validated.tsv", HEADING + "".join(rows) + row("ddd", "common_voice_de_4.mp3", "Fünf."))
    write(german / "clip_durations.tsv", "clip\tduration[ms]\ncommon_voice_de_0.mp3\t500\n")
    return tmp_path / "cv-corpus-21.0"


@pytest.mark.parametrize("part", ["", "de"])
def test_the_official_layout(corpus: Path, part: str) -> None:
    prepared = prepared_by(CommonVoice(), corpus / part)
    assert not prepared.left_out
    assert [(u.text, u.speaker, u.language) for u in prepared.utterances] == [
        ('"Ja, sagte er.', "aaa", "de"),
        ("Zwei.", "aaa", "de"),
        ("Drei.", "bbb", "de"),
        ("Vier.", "ccc", "de"),
    ]
    first = prepared.utterances[0]
    assert first.attributes == {
        "split": "train",
        "gender": "male_masculine",
        "age": "twenties",
        "accents": "Schweizerdeutsch",
    }
    assert first.duration_s == pytest.approx(0.5, abs=0.08), "MP3 pads"
    assert {name: len(each) for name, each in splits_of(prepared).items()} == {"train": 2, "dev": 1, "test": 1}
    assert not shared_speakers(splits_of(prepared))


def test_other_tables(corpus: Path) -> None:
    utterances, _ = found(CommonVoice(tables="validated"), corpus)
    assert len(utterances) == 5
    with pytest.raises(DataError, match=r"has no other\.tsv; .*: clip_durations, dev, test, train, validated"):
        found(CommonVoice(tables="train, other"), corpus)


def test_validated_where_there_is_no_split(corpus: Path) -> None:
    for name in ("train", "dev", "test"):
        (corpus / "de" / f"{name}.tsv").unlink()
    assert len(found(CommonVoice(), corpus)[0]) == 5


def test_a_clip_of_two_tables_and_a_speaker_of_two_splits_are_told(corpus: Path) -> None:
    rows = row("aaa", "common_voice_de_4.mp3", "Fünf.") + row("ccc", "common_voice_de_1.mp3", "Zwo.")
    write(corpus / "de" / "dev.tsv", HEADING + rows)
    prepared = prepared_by(CommonVoice(), corpus)
    assert shared_speakers(splits_of(prepared)) == {("train", "dev"): ("aaa",)}
    [item] = prepared.left_out
    assert item.reason == (
        "is listed twice, where the speaker is 'aaa', not 'ccc', with another transcript, 'Zwei.', in split 'train' and "
        "again in 'dev'"
    )


def test_corrupt_members(corpus: Path) -> None:
    clips = corpus / "de" / "clips"
    truncate(record(clips / "torn.mp3", seconds=4))
    (clips / "empty.mp3").write_bytes(b"")
    write(clips / "page.mp3", "<html>not found</html>")
    record(clips / "mute.mp3", peak=0)
    record(clips / "old.mp3")
    record(clips / "long.mp3", seconds=3)
    rows = [row("eee", f"{name}.mp3", "x") for name in ("torn", "empty", "page", "mute", "gone", "long")]
    rows += [
        row("eee", "old", "alt"),
        row("", "common_voice_de_4.mp3", "wer?"),
        row("eee", "common_voice_de_0.mp3", "a\tb\tc"),
    ]
    rows += [row("fff", "common_voice_de_4.mp3", "")]
    write(corpus / "de" / "train.tsv", ("\ufeff" + HEADING + "".join(rows)).replace("\n", "\r\n"))
    write(corpus / "de" / "test.tsv", HEADING)
    prepared = prepared_by(CommonVoice(), corpus, longest_s=2.0)
    names = {u.audio.name: u for u in prepared.utterances}
    assert {"old.mp3", "common_voice_de_2.mp3"} <= set(names)
    assert names["old.mp3"].language == "de"
    assert kinds(prepared) == {
        "torn.mp3": "unreadable",
        "empty.mp3": "unreadable",
        "page.mp3": "unreadable",
        "mute.mp3": "silent",
        "gone.mp3": "missing",
        "long.mp3": "long",
        "common_voice_de_4.mp3": "transcript",
        "train.tsv": "row",
    }
    [bad] = [item for item in prepared.left_out if item.kind == "row"]
    assert bad.reason == "has 15 fields in line 10, but 13 in its heading; correct that line"
    assert [item.kind for item in prepared.left_out].count("speaker") == 1


def test_rows_that_end_early(corpus: Path) -> None:
    write(corpus / "de" / "train.tsv", HEADING + "aaa\naaa\t\tid\tx\naaa\tcommon_voice_de_0.mp3\n")
    prepared = prepared_by(CommonVoice(), corpus)
    assert [(item.kind, item.reason) for item in prepared.left_out] == [
        ("row", "names no recording in a row of 'aaa'"),
        ("row", "names no recording in a row of 'aaa'"),
        ("transcript", "has an empty transcript"),
    ]
    assert len(prepared.utterances) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("path\ttext\na.mp3\tx\n", r"no column client_id and no sentence, .* data prepare folder"),
        (b"client_id\tpath\tsentence\na\tb.mp3\tf\xfcnf\n", "is not UTF-8"),
        ("", r"train\.tsv has no row"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, content: str | bytes, said: str) -> None:
    record(tmp_path / "clips" / "a.mp3")
    write(tmp_path / "train.tsv", content)
    with pytest.raises(DataError, match=said):
        found(CommonVoice(), tmp_path)
