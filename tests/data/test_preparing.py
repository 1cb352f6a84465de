from __future__ import annotations

import json
import os
import shutil
import unicodedata
from pathlib import Path

import pytest
import soundfile
from recorder import kinds, record, truncate, write

from sordino.data import (
    SOURCES,
    LeftOut,
    Utterance,
    glance,
    hold_out_speakers,
    listen,
    prepare,
    read_manifest,
    shared_speakers,
    splits_of,
    write_prepared,
)
from sordino.data.sources.folder import Folder
from sordino.data.sources.librispeech import LibriSpeech
from sordino.errors import ConfigError, DataError


def said(path: Path, text: str) -> Path:
    path.with_suffix(".txt").write_text(text, encoding="utf-8")
    return path


def read(folder: Path, **options: object) -> dict[str, Utterance | LeftOut]:
    """What the folder source finds, by path below the folder."""
    return {item.audio.relative_to(folder).as_posix(): item for item in Folder(**options).read(folder)}


def utterance(found: Utterance | LeftOut) -> Utterance:
    assert isinstance(found, Utterance), found
    return found


class TestFolder:
    def test_transcripts_beside_the_recordings_in_speakers_folders(self, tmp_path: Path) -> None:
        said(record(tmp_path / "Zoë B" / "day 1" / "a b.wav"), "eins\n zwei ")
        record(tmp_path / "Zoë B" / "c.flac").with_suffix(".lab").write_text("drei")
        record(tmp_path / "Max" / "mute.wav")
        record(tmp_path / "Max" / "odd.wav").with_suffix(".txt").write_bytes(b"\xff\xfe\x00")
        said(record(tmp_path / "loose.wav"), "vier")
        record(tmp_path / "Max" / "._hidden.wav")
        found = read(tmp_path, language="de")
        assert set(found) == {"Zoë B/day 1/a b.wav", "Zoë B/c.flac", "Max/mute.wav", "Max/odd.wav", "loose.wav"}
        first = utterance(found["Zoë B/day 1/a b.wav"])
        assert (first.text, first.speaker, first.language) == ("eins zwei", "Zoë B", "de")
        assert utterance(found["Zoë B/c.flac"]).text == "drei"
        assert isinstance(found["Max/mute.wav"], LeftOut)
        assert isinstance(found["Max/odd.wav"], LeftOut)
        assert utterance(found["loose.wav"]).speaker == ""
        assert utterance(read(tmp_path, speaker_level=2)["Zoë B/day 1/a b.wav"]).speaker == "day 1"

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("metadata.csv", "file_name,Transcription,client_id,locale,age\nx/é.wav,one,p1,en,40\ny.wav,two,p2,,\n"),
            ("metadata.csv", "\ufefffile_name;text;speaker;language;age\nx/é.wav;one;p1;en;40\ny.wav;two;p2;;\n"),
            ("metadata.csv", "path|text|speaker|language|age\nX/É.WAV|one|p1|en|40\nY|two|p2||\n"),
            ("ours.tsv", "path\tsentence\tspk\tlang\tage\né\tone\tp1\ten\t40\ny\ttwo\tp2\t\t\n"),
            (
                "metadata.jsonl",
                '{"audio_filepath": "x\\\\é.wav", "text": "one", "speaker": "p1", "language": "en", "age": 40}\n'
                '{"audio_filepath": "./y.wav", "text": "two", "speaker": "p2"}\n',
            ),
        ],
        ids=["csv", "semicolons", "bars-and-capitals", "tsv-without-endings", "jsonl"],
    )
    def test_a_table_whatever_its_columns_are_called(self, tmp_path: Path, name: str, content: str) -> None:
        record(tmp_path / "x" / unicodedata.normalize("NFD", "é.wav"))
        record(tmp_path / "y.wav")
        record(tmp_path / "z.wav")
        (tmp_path / name).write_text(content, encoding="utf-8")
        found = {unicodedata.normalize("NFC", path): item for path, item in read(tmp_path, language="fr").items()}
        one, two = utterance(found["x/é.wav"]), utterance(found["y.wav"])
        assert (one.text, one.speaker, one.language, one.attributes) == ("one", "p1", "en", {"age": "40"})
        assert (two.text, two.speaker, two.language, two.attributes) == ("two", "p2", "fr", {})
        assert found["z.wav"] == LeftOut(tmp_path / "z.wav", "unlisted", f"is not in {name}")

    def test_rows_without_a_recording_and_names_that_several_have(self, tmp_path: Path) -> None:
        record(tmp_path / "a" / "1.wav")
        record(tmp_path / "b" / "1.wav")
        (tmp_path / "metadata.csv").write_text("path,text\n1.wav,one\nnone.wav,two\na/1.wav,three\n,four\n")
        items = list(Folder().read(tmp_path))
        kinds = [item.kind if isinstance(item, LeftOut) else item.speaker for item in items]
        assert kinds == ["missing", "missing", "a", "missing", "unlisted"]
        assert [item.reason for item in items if isinstance(item, LeftOut)][:2] == [
            "is what several recordings are called; write their paths in metadata.csv",
            "is in metadata.csv, but not in the folder",
        ]

    def test_capitals_tell_recordings_apart_where_they_can(self, tmp_path: Path) -> None:
        record(tmp_path / "a" / "One.wav")
        record(tmp_path / "b" / "one.wav")
        (tmp_path / "metadata.csv").write_text("path,text\nb/ONE.wav,one\none.wav,two\nONE.wav,three\n")
        found = [item.kind if isinstance(item, LeftOut) else item.speaker for item in Folder().read(tmp_path)]
        assert found == ["b", "b", "missing", "unlisted"]

    @pytest.mark.parametrize(
        ("offset", "duration"), [("nan", "1"), ("-1", "1"), ("inf", "1"), ("0", "0"), ("0", "nan"), ("x", "1")]
    )
    def test_a_piece_that_cannot_be(self, tmp_path: Path, offset: str, duration: str) -> None:
        record(tmp_path / "1.wav")
        (tmp_path / "metadata.csv").write_text(f"path,text,speaker,offset,duration\n1.wav,one,s,{offset},{duration}\n")
        [item] = Folder().read(tmp_path)
        assert isinstance(item, LeftOut)
        assert item.kind == "piece"

    def test_pieces_of_recordings_keep_their_place(self, tmp_path: Path) -> None:
        record(tmp_path / "long.wav", seconds=2)
        lines = [{"audio_filepath": "long.wav", "text": t, "speaker": "s", "offset": o, "duration": 1.0} for t, o in
                 (("one", 0.0), ("two", 1.0))]  # fmt: skip
        (tmp_path / "manifest.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        prepared = prepare(Folder().read(tmp_path))
        assert [(u.text, u.offset_s, u.duration_s) for u in prepared.utterances] == [("one", 0, 1), ("two", 1, 1)]

    @pytest.mark.parametrize(
        ("files", "said"),
        [
            ({}, ["no file at all"]),
            ({"a.m4a": "", "b.m4a": "", "c.txt": ""}, ["2 .m4a and 1 .txt files", "ffmpeg"]),
            ({"s/a.wav": None}, ["1 recordings but no transcript", "metadata.csv", "a.txt"]),
            ({"s/a.wav": None, "s/a.trans.txt": "a ONE"}, ["prepare librispeech"]),
            ({"s/a.wav": None, "s/metadata.csv": "path,text\na.wav,one\n"}, ["no table itself", "s/metadata.csv"]),
            ({"a.wav": None, "metadata.csv": "file,words\na.wav,one\n"}, ["file, words", "text_column", "transcript"]),
            ({"a.wav": None, "metadata.csv": "path,text\n"}, ["metadata.csv", "no row"]),
            ({"a.wav": None, "metadata.csv": b"path,text\na.wav,\xe9\n"}, ["not UTF-8"]),
            ({"a.wav": None, "metadata.jsonl": "{}\nnothing"}, ["metadata.jsonl, line 2", "JSON"]),
            ({"a.wav": None, "one.csv": "path,text\n", "two.csv": "path,text\n"}, ["one.csv, two.csv", "table="]),
        ],
    )
    def test_a_folder_that_is_not_laid_out_like_this(
        self, tmp_path: Path, files: dict[str, str | bytes | None], said: list[str]
    ) -> None:
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            if content is None:
                record(tmp_path / name)
            else:
                (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(DataError) as error:
            list(Folder().read(tmp_path))
        assert all(text in str(error.value) for text in said), error.value

    def test_a_column_that_the_user_names_must_be_there(self, tmp_path: Path) -> None:
        record(tmp_path / "a.wav")
        (tmp_path / "metadata.csv").write_text("path,text,who\na.wav,one,Ann\n")
        assert utterance(read(tmp_path, speaker_column="who")["a.wav"]).speaker == "Ann"
        with pytest.raises(DataError, match=r"no column 'whom' for the speaker; .* path, text, who"):
            read(tmp_path, speaker_column="whom")


class TestLibriSpeech:
    def test_the_official_layout(self, tmp_path: Path, data_root: Path) -> None:
        corpus = tmp_path / "LibriSpeech"
        for line in (data_root / "librispeech-10" / "manifest.jsonl").read_text().splitlines()[:12]:
            row = json.loads(line)
            speaker, chapter, _ = row["id"].split("-")
            folder = corpus / "test-other" / speaker / chapter
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(data_root / "librispeech-10" / row["audio_filepath"], folder)
            with (folder / f"{speaker}-{chapter}.trans.txt").open("a") as file:
                file.write(f"{row['id']} {row['text'].upper()}\n")
        record(folder / f"{speaker}-{chapter}-9999.flac")
        (corpus / "SPEAKERS.TXT").write_text(
            "; comment\n1688  | F | test-other | 8.0 | A | Name\n1998 | M | x | 8 | B\n"
        )
        for root in (corpus, corpus / "test-other"):
            prepared = prepare(LibriSpeech().read(root))
            assert len(prepared.utterances) == 12
            assert {u.attributes["split"] for u in prepared.utterances} == {"test-other"}
            assert prepared.utterances[0].attributes["gender"] == "female"
            assert prepared.utterances[0].text.startswith("THERE'S IRON THEY SAY")
            assert prepared.speakers == {"1688": 10, "1998": 2}
            assert [item.kind for item in prepared.left_out] == ["transcript"]

    def test_another_layout_is_refused_in_words(self, tmp_path: Path) -> None:
        record(tmp_path / "a.wav")
        with pytest.raises(DataError, match="data prepare folder"):
            list(LibriSpeech().read(tmp_path))

    def test_splits_become_manifests_and_corrupt_members_are_named(self, tmp_path: Path) -> None:
        for subset, speaker in (("train-clean-100", "1"), ("dev-clean", "2"), ("test-clean", "1"), ("test-clean", "3")):
            chapter = tmp_path / subset / speaker / "10"
            names = [f"{speaker}-10-000{index}-{subset}" for index in range(2)]
            for name in names:
                record(chapter / f"{name}.flac")
            write(chapter / f"{speaker}-10.trans.txt", "".join(f"{name} SAID {name}\n" for name in names))
        truncate(tmp_path / "dev-clean" / "2" / "10" / "2-10-0001-dev-clean.flac")
        lines = "1-10-0000-test-clean SAID\r\n1-10-0000-test-clean OTHER\r\n1-10-0007-test-clean GONE\r\n"
        write(tmp_path / "test-clean" / "1" / "10" / "1-10.trans.txt", "\ufeff" + lines)
        write(tmp_path / "test-clean" / "3" / "10" / "3-10.trans.txt", b"3-10-0000-test-clean CAF\xc9\n")
        prepared = prepare(LibriSpeech().read(tmp_path))
        splits = splits_of(prepared)
        assert {name: len(each) for name, each in splits.items()} == {
            "dev-clean": 1,
            "test-clean": 1,
            "train-clean-100": 2,
        }
        assert shared_speakers(splits) == {("test-clean", "train-clean-100"): ("1",)}
        assert splits["test-clean"][0].text == "SAID"
        assert sorted((item.audio.name, item.kind) for item in prepared.left_out) == [
            ("1-10-0001-test-clean.flac", "transcript"),
            ("1-10-0007-test-clean.flac", "missing"),
            ("1-10.trans.txt", "duplicate"),
            ("2-10-0001-dev-clean.flac", "unreadable"),
            ("3-10-0000-test-clean.flac", "transcript"),
            ("3-10-0001-test-clean.flac", "transcript"),
            ("3-10.trans.txt", "transcript"),
        ]
        assert set(write_prepared(prepared, tmp_path / "out")) == {
            *("dev-clean.jsonl", "test-clean.jsonl", "train-clean-100.jsonl", "left_out.jsonl")
        }


class TestSpokenDigits:
    def test_the_official_names(self, tmp_path: Path) -> None:
        for name in ("7_george_12", "0_lucas_3", "readme_george"):
            record(tmp_path / "recordings" / f"{name}.wav", rate=8_000)
        prepared = prepare(SOURCES.get("fsdd")().read(tmp_path))
        assert {(u.text, u.speaker, u.duration_s) for u in prepared.utterances} == {
            ("seven", "george", 0.5),
            ("zero", "lucas", 0.5),
        }
        assert [item.kind for item in prepared.left_out] == ["name"]


@pytest.mark.parametrize("name", SOURCES.names())
def test_no_source_takes_an_empty_or_absent_folder(name: str, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(DataError):
            list(SOURCES.get(name)().read(folder))


@pytest.mark.parametrize(
    ("source", "corpus"), [("folder", "nemo"), ("librispeech", "librispeech-10"), ("fsdd", "fsdd")]
)
def test_real_recordings_are_all_found(source: str, corpus: str, data_root: Path, tmp_path: Path) -> None:
    expected = read_manifest(data_root / corpus / "manifest.jsonl")
    found = [item for item in SOURCES.get(source)().read(data_root / corpus) if isinstance(item, Utterance)]
    assert [(u.audio, u.text, u.speaker, u.language) for u in found] == [
        (u.audio, u.text, u.speaker, u.language) for u in expected
    ]


class TestPrepare:
    def test_whatever_cannot_be_used_is_named_and_counted(self, tmp_path: Path) -> None:
        said(record(tmp_path / "s1" / "good.wav"), "good")
        said(record(tmp_path / "s1" / "loud.wav", peak=30), "loud")
        said(record(tmp_path / "s1" / "long.wav", seconds=3), "long")
        said(record(tmp_path / "s1" / "mute.wav", peak=1e-6), "mute")
        said(record(tmp_path / "s1" / "blank.wav"), " \n")
        said(tmp_path / "s1" / "torn.wav", "torn").write_bytes(b"RIFF")
        said(tmp_path / "s1" / "zero.wav", "zero").touch()
        samples, rate = soundfile.read(tmp_path / "s1" / "good.wav", dtype="int16")
        (tmp_path / "s2").mkdir()
        soundfile.write(said(tmp_path / "s2" / "twin.flac", "good"), samples, rate)
        said(record(tmp_path / "lost.wav"), "lost")
        prepared = prepare(Folder().read(tmp_path), longest_s=2.0)
        assert [u.audio.name for u in prepared.utterances] == ["good.wav", "loud.wav"]
        assert [u.duration_s for u in prepared.utterances] == [0.5, 0.5]
        assert prepared.clipped == 1
        assert {item.audio.name: item.kind for item in prepared.left_out} == {
            "lost.wav": "speaker",
            "long.wav": "long",
            "mute.wav": "silent",
            "blank.wav": "transcript",
            "torn.wav": "unreadable",
            "zero.wav": "unreadable",
            "twin.flac": "duplicate",
        }
        twin = next(item for item in prepared.left_out if item.kind == "duplicate")
        assert "good.wav" in twin.reason
        assert "'s1', not 's2'" in twin.reason

    def test_headers_alone_tell_lengths_and_no_more(self, tmp_path: Path) -> None:
        said(record(tmp_path / "s" / "good.wav"), "good")
        said(record(tmp_path / "s" / "long.wav", seconds=3), "long")
        said(record(tmp_path / "s" / "mute.wav", peak=0), "mute")
        said(truncate(record(tmp_path / "s" / "torn.wav")), "torn")
        said(tmp_path / "s" / "page.wav", "page").write_text("<html>")
        shutil.copy(tmp_path / "s" / "good.wav", said(tmp_path / "s" / "twin.wav", "good"))
        found = Folder().read(tmp_path)
        prepared = prepare(found, longest_s=2.0, hear=glance)
        assert [(u.audio.name, u.duration_s) for u in prepared.utterances] == [
            ("good.wav", 0.5),
            ("mute.wav", 0.5),
            ("twin.wav", 0.5),
        ]
        assert kinds(prepared) == {"long.wav": "long", "torn.wav": "unreadable", "page.wav": "unreadable"}

    def test_pieces_are_measured_by_headers_as_by_ear(self, tmp_path: Path) -> None:
        audio = record(tmp_path / "a.wav", seconds=2)
        for offset_s, duration_s in ((0, 1), (0.5, 9), (1.995, 1), (0, 1.995), (2, 1), (3, 1)):
            piece = Utterance(audio=audio, text="x", speaker="s", offset_s=offset_s, duration_s=duration_s)
            outcomes = []
            for hear in (listen, glance):
                try:
                    outcomes.append(pytest.approx(hear(piece).duration_s))
                except DataError as error:
                    outcomes.append(str(error))
            assert outcomes[0] == outcomes[1]

    @pytest.mark.parametrize("column", ["text", "speaker", "language", "accent"])
    def test_half_a_character_that_no_manifest_can_hold(self, tmp_path: Path, column: str) -> None:
        lines = []
        for name in ("1.wav", "2.wav"):
            record(tmp_path / "in" / name)
            lines.append({"path": name, "text": "one", "speaker": "s"})
        lines[1][column] = "half \ud83d"
        (tmp_path / "in" / "metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        prepared = prepare(Folder().read(tmp_path / "in"))
        assert [item.kind for item in prepared.left_out] == ["characters"]
        write_prepared(prepared, tmp_path / "out")
        assert len(read_manifest(tmp_path / "out" / "manifest.jsonl")) == 1

    def test_a_name_that_no_manifest_can_hold(self, tmp_path: Path) -> None:
        good = said(record(tmp_path / "s" / "good.wav"), "good")
        strange = tmp_path / "s" / os.fsdecode(b"caf\xe9.wav")
        said(good.rename(strange), "strange")
        said(record(good), "good")
        prepared = prepare([*Folder().read(tmp_path), LeftOut(tmp_path / "half \ud83d.wav", "missing", "is not there")])
        assert [item.kind for item in prepared.left_out] == ["name", "missing"]
        write_prepared(prepared, tmp_path / "out")
        told = [json.loads(line)["audio"] for line in (tmp_path / "out" / "left_out.jsonl").read_text().splitlines()]
        assert told == [str(strange), str(tmp_path / "half \ud83d.wav")]
        assert len(read_manifest(tmp_path / "out" / "manifest.jsonl")) == 1

    @pytest.mark.parametrize("split", ["../../etc/x", "a/b", "left_out", "", ".."])
    def test_a_split_of_any_name_is_written_in_the_folder(self, tmp_path: Path, split: str) -> None:
        for name in ("a", "b"):
            record(tmp_path / "in" / f"{name}.wav")
        table = f"path,text,speaker,split\na.wav,one,s,{split}\nb.wav,two,s,train\n"
        write(tmp_path / "in" / "metadata.csv", table + "gone.wav,x,s,x\n")
        files = write_prepared(prepare(Folder().read(tmp_path / "in")), tmp_path / "deep" / "out")
        assert len(files) == 3
        assert {file.name for file in (tmp_path / "deep" / "out").iterdir()} == set(files)
        assert {file.name for file in tmp_path.iterdir()} == {"in", "deep"}
        assert read_manifest(tmp_path / "deep" / "out" / "train.jsonl")[0].text == "two"

    def test_one_person_is_one_speaker_however_the_name_is_encoded(self, tmp_path: Path) -> None:
        for index, form in enumerate(("NFC", "NFD")):
            said(record(tmp_path / unicodedata.normalize(form, "Zoë") / f"{index}.wav"), "one")
        assert len(prepare(Folder().read(tmp_path)).speakers) == 1

    def test_nothing_usable_is_an_error_with_the_reasons(self, tmp_path: Path) -> None:
        said(record(tmp_path / "lost.wav"), "lost")
        with pytest.raises(DataError, match=r"1 speaker .*lost\.wav lies in no speaker's folder"):
            prepare(Folder().read(tmp_path))

    def test_manifests_are_written_once_and_mean_the_same(self, tmp_path: Path) -> None:
        for speaker in "abcdef":
            said(record(tmp_path / "in" / f"{speaker} ö" / "1.wav"), f"text {speaker}")
        said(record(tmp_path / "in" / "loose.wav"), "x")
        prepared = prepare(Folder().read(tmp_path / "in"))
        division = hold_out_speakers(prepared.utterances, 2, seed=0)
        files = write_prepared(prepared, tmp_path / "out", division=division)
        assert files == {"left_out.jsonl": 1, "test.jsonl": 2, "train.jsonl": 4}
        train, test = (read_manifest(tmp_path / "out" / f"{name}.jsonl") for name in ("train", "test"))
        assert {u.text for u in train + test} == {f"text {speaker}" for speaker in "abcdef"}
        assert not {u.speaker for u in train} & {u.speaker for u in test}
        assert json.loads((tmp_path / "out" / "left_out.jsonl").read_text())["kind"] == "speaker"
        with pytest.raises(ConfigError, match=r"train\.jsonl already"):
            write_prepared(prepared, tmp_path / "out", division=None)

    @pytest.mark.parametrize("count", [0, 3, -1])
    def test_somebody_must_remain_on_either_side(self, count: int, tmp_path: Path) -> None:
        utterances = [Utterance(audio=tmp_path, text="", speaker=s, duration_s=1) for s in "abc"]
        with pytest.raises(ConfigError, match=f"{count} test speakers of 3"):
            hold_out_speakers(utterances, count, seed=0)
