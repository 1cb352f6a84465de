"""A miniature of TORGO: two speakers and a control, two microphones of which one session lacks one."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorder import found, kinds, prepared_by, record, write

from sordino.data import shared_prompts
from sordino.data.sources.torgo import Torgo
from sordino.errors import ConfigError, DataError

PROMPTS = {
    "0001": "stick",
    "0002": "tear [as in tear up that paper]",
    "0003": "[say Ah-P-Eee repeatedly]",
    "0004": "input/images/zoo.jpg",
    "0005": "The quick brown fox.",
    "0007": "xxx",
    "0008": "[relax your mouth",
}


def session(place: Path, microphones: tuple[str, ...] = ("array", "head")) -> Path:
    for number, text in PROMPTS.items():
        write(place / "prompts" / f"{number}.txt", text + "\r\n")
        for microphone in microphones:
            record(place / f"wav_{microphone}Mic" / f"{number}.wav", seconds=0.2)
    write(place / "phn_arrayMic" / "0001.PHN", "0 100 s\n")
    return place


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    session(tmp_path / "F01" / "Session1")
    session(tmp_path / "M" / "M03" / "Session2_3", ("head",))
    session(tmp_path / "FC02" / "Session1")
    return tmp_path


def test_the_official_layout(corpus: Path) -> None:
    prepared = prepared_by(Torgo(), corpus)
    said = {(u.speaker, u.audio.parent.name, u.audio.stem): u for u in prepared.utterances}
    assert {key: u.text for key, u in said.items() if u.speaker == "F01"} == {
        ("F01", "wav_arrayMic", "0001"): "stick",
        ("F01", "wav_arrayMic", "0002"): "tear",
        ("F01", "wav_arrayMic", "0005"): "The quick brown fox.",
    }
    assert {key[1] for key in said if key[0] == "M03"} == {"wav_headMic"}, "no other microphone recorded him"
    assert len(said) == 9
    one = said["M03", "wav_headMic", "0005"]
    assert one.language == "en"
    assert one.attributes == {"session": "Session2_3", "gender": "male", "severity": "mild", "microphone": "head"}
    assert said["FC02", "wav_arrayMic", "0001"].attributes["severity"] == "control"
    assert said["FC02", "wav_arrayMic", "0001"].attributes["gender"] == "female"
    assert said["F01", "wav_arrayMic", "0001"].attributes["severity"] == "severe"


def test_prompts_that_are_no_transcript_are_named(corpus: Path) -> None:
    prepared = prepared_by(Torgo(), corpus / "F01" / ".." / "F01" / "..")
    mine = [item for item in prepared.left_out if "F01" in item.audio.parts]
    assert {item.audio.stem: item.kind for item in mine} == {
        "0003": "instruction", "0004": "picture", "0007": "transcript", "0008": "instruction"
    }  # fmt: skip
    assert any("[say Ah-P-Eee repeatedly]" in item.reason for item in mine)


def test_missing_prompts_and_recordings_are_named(corpus: Path) -> None:
    place = corpus / "F01" / "Session1"
    (place / "prompts" / "0001.txt").unlink()
    write(place / "prompts" / "0005.txt", " \n")
    write(place / "prompts" / "0099.txt", "yes")
    record(place / "wav_arrayMic" / "0100.wav")
    _, left_out = found(Torgo(), corpus)
    below = "F01/Session1/wav_arrayMic/"
    assert left_out >= {(f"{below}0001.wav", "transcript"), (f"{below}0099.wav", "missing")}
    assert (f"{below}0100.wav", "transcript") in left_out
    assert kinds(prepared_by(Torgo(), corpus))["0005.wav"] == "transcript"


def test_microphones(corpus: Path) -> None:
    def microphones(**options: object) -> dict[str, list[str]]:
        utterances, _ = found(Torgo(**options), corpus)  # type: ignore[arg-type]
        speakers = {u.speaker for u in utterances}
        return {s: sorted({u.attributes["microphone"] for u in utterances if u.speaker == s}) for s in speakers}

    assert microphones(microphones="head,array") == {"F01": ["head"], "M03": ["head"], "FC02": ["head"]}
    assert microphones(every_microphone=True) == {"F01": ["array", "head"], "M03": ["head"], "FC02": ["array", "head"]}
    assert "M03" not in microphones(microphones="array")
    assert ("M/M03/Session2_3/wav_headMic/0001.wav", "microphone") in found(Torgo(microphones="array"), corpus)[1]
    with pytest.raises(ConfigError, match="microphones = 'arm'"):
        Torgo(microphones="array,arm")


def test_speakers_share_their_prompts(corpus: Path) -> None:
    utterances, _ = found(Torgo(), corpus)
    mine = [u for u in utterances if u.speaker == "F01"]
    others = [u for u in utterances if u.speaker != "F01"]
    shared = shared_prompts({"train": others, "test": mine})["train", "test"]
    assert shared.texts == ("stick", "tear", "the quick brown fox.")
    assert shared.rates["test"] == 1.0


def test_another_layout_is_refused(tmp_path: Path) -> None:
    record(tmp_path / "F01" / "0001.wav")
    with pytest.raises(DataError, match=r"no folder such as F01/Session1/wav_arrayMic"):
        found(Torgo(), tmp_path)
