"""A miniature of UASpeech: two speakers and a control, three blocks, two microphones."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorder import found, kinds, prepared_by, record, truncate, write

from sordino.data import shared_prompts, shared_speakers, splits_of
from sordino.data.sources.uaspeech import UASpeech
from sordino.errors import ConfigError, DataError

WORDS = {"D1": "one", "C10": "command", "LA": "alpha", "CW2": "of", "UW1": ""}
LIST = (
    "WORD,FILE NAME\none,D1\nCommand,C10\nAlpha,LA\nof,CW2\nnaturalization,B1_UW1\nmoonlight,B2_UW1\nsugarplum,B3_UW1\n"
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for place, speaker in (("", "F02"), ("", "M04"), ("control/", "CM01")):
        for block in "123":
            for word in WORDS:
                for microphone in ("M3", "M5"):
                    name = f"{speaker}_B{block}_{word}_{microphone}.wav"
                    record(tmp_path / "audio" / place / speaker / name, seconds=0.2)
    write(tmp_path / "doc" / "speaker_wordlist.csv", LIST)
    return tmp_path


def test_the_official_layout(corpus: Path) -> None:
    prepared = prepared_by(UASpeech(), corpus)
    assert not prepared.left_out
    assert len(prepared.utterances) == 3 * 3 * 5
    by_name = {utterance.audio.stem: utterance for utterance in prepared.utterances}
    one = by_name["F02_B2_UW1_M5"]
    assert (one.text, one.speaker, one.language) == ("moonlight", "F02", "en")
    assert one.attributes == {
        "split": "test", "block": "2", "microphone": "M5", "word_kind": "uncommon", "gender": "female",
        "intelligibility": "low",
    }  # fmt: skip
    assert by_name["CM01_B1_D1_M5"].attributes["intelligibility"] == "control"
    assert by_name["CM01_B1_D1_M5"].attributes["gender"] == "male"
    assert by_name["M04_B3_C10_M5"].attributes["intelligibility"] == "very low"
    found_kinds = {name.split("_")[2]: utterance.attributes["word_kind"] for name, utterance in by_name.items()}
    assert found_kinds == {"D1": "digit", "C10": "command", "LA": "letter", "CW2": "common", "UW1": "uncommon"}
    assert {by_name[f"F02_B{block}_UW1_M5"].text for block in "123"} == {"naturalization", "moonlight", "sugarplum"}


def test_blocks_are_splits_that_share_speakers_and_most_words(corpus: Path) -> None:
    splits = splits_of(prepared_by(UASpeech(), corpus))
    assert {name: len(utterances) for name, utterances in splits.items()} == {"train": 30, "test": 15}
    assert shared_speakers(splits) == {("train", "test"): ("CM01", "F02", "M04")}
    shared = shared_prompts(splits)["train", "test"]
    assert shared.texts == ("alpha", "command", "of", "one")
    assert shared.rates == {"train": 0.8, "test": 0.8}


def test_each_utterance_counts_once_unless_every_microphone_is_wanted(corpus: Path) -> None:
    def microphones(**options: object) -> list[str]:
        utterances, _ = found(UASpeech(**options), corpus)  # type: ignore[arg-type]
        return [utterance.attributes["microphone"] for utterance in utterances]

    assert set(microphones(microphones="M8,M3,M5")) == {"M3"}
    assert sorted(microphones(every_microphone=True)) == ["M3"] * 45 + ["M5"] * 45
    assert microphones(microphones="M3", every_microphone=True) == ["M3"] * 45
    (corpus / "audio" / "F02" / "F02_B1_D1_M5.wav").unlink()
    assert sorted(microphones()) == ["M3"] + ["M5"] * 44
    _, left_out = found(UASpeech(microphones="M5"), corpus)
    assert left_out == {("audio/F02/F02_B1_D1_M3.wav", "microphone")}


def test_words_of_the_label_files(corpus: Path) -> None:
    (corpus / "doc" / "speaker_wordlist.csv").unlink()
    for speaker in ("F02", "M04"):
        labels = "".join(f'"*/{speaker}_B{b}_UW1_M5.lab"\nMOON{b}\n.\n' for b in "123")
        labels += f'"*/{speaker}_B1_D1_M2.lab"\n0 5000 ONE\n.\n'
        write(corpus / "mlf" / speaker / f"{speaker}_word.mlf", "#!MLF!#\r\n" + labels.replace("\n", "\r\n"))
    prepared = prepared_by(UASpeech(), corpus)
    assert {u.audio.stem: u.text for u in prepared.utterances if u.speaker == "F02"} == {
        "F02_B1_D1_M5": "ONE", "F02_B1_UW1_M5": "MOON1", "F02_B2_UW1_M5": "MOON2", "F02_B3_UW1_M5": "MOON3"
    }  # fmt: skip
    assert kinds(prepared)["F02_B2_D1_M5.wav"] == "transcript"
    assert kinds(prepared)["CM01_B1_UW1_M5.wav"] == "transcript"


def test_one_copy_of_several_is_read(corpus: Path) -> None:
    for version in ("original", "noisereduce"):
        record(corpus / "audio" / version / "F05" / "F05_B1_D1_M5.wav")
    for options, place in ({}, "original"), ({"version": "noisereduce"}, "noisereduce"):
        utterances, _ = found(UASpeech(**options), corpus)
        assert [u.audio.parent.parent.name for u in utterances if u.speaker == "F05"] == [place]
    with pytest.raises(ConfigError, match="version = 'noise'"):
        UASpeech(version="noise")
    with pytest.raises(ConfigError, match="microphones = 'M9'"):
        UASpeech(microphones="M5,M9")


def test_what_cannot_be_used_is_named(corpus: Path) -> None:
    audio = corpus / "audio" / "F02"
    truncate(audio / "F02_B1_D1_M5.wav").write_bytes(b"RIFF")
    record(audio / "F02_B1_CW99_M5.wav")
    record(audio / "notes.wav")
    record(audio / "F02_B4_D1_M5.wav")
    write(corpus / "doc" / "speaker_wordlist.csv", LIST + "a,b,c\n")
    prepared = prepared_by(UASpeech(), corpus)
    assert kinds(prepared) == {
        "F02_B1_D1_M5.wav": "unreadable", "F02_B1_CW99_M5.wav": "transcript", "notes.wav": "name",
        "F02_B4_D1_M5.wav": "name", "speaker_wordlist.csv": "row",
    }  # fmt: skip


def test_a_folder_without_words_or_recordings_is_refused(corpus: Path, tmp_path: Path) -> None:
    listed = corpus / "doc" / "speaker_wordlist.csv"
    listed.rename(listed.with_suffix(".xls"))
    with pytest.raises(DataError, match=r"only .*speaker_wordlist\.xls, a spreadsheet.* save the sheet Word_filename"):
        found(UASpeech(), corpus)
    listed.with_suffix(".xls").unlink()
    with pytest.raises(DataError, match=r"no \*_word\.mlf, but neither"):
        found(UASpeech(), corpus)
    write(listed, "A,B\n1,2\n")
    with pytest.raises(DataError, match="columns A, B: expected WORD and FILE NAME"):
        found(UASpeech(), corpus)
    record(tmp_path / "elsewhere" / "a.wav")
    with pytest.raises(DataError, match=r"named like F02_B1_CW12_M5\.wav"):
        found(UASpeech(), tmp_path / "elsewhere")
