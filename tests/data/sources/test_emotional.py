"""Miniatures of RAVDESS, CREMA-D, IEMOCAP and MELD, each as it is distributed."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorder import found, kinds, prepared_by, record, write

from sordino.data import SOURCES
from sordino.data.sources.crema_d import CremaD
from sordino.data.sources.iemocap import Iemocap
from sordino.data.sources.meld import Meld
from sordino.data.sources.ravdess import Ravdess
from sordino.errors import DataError


def test_ravdess(tmp_path: Path) -> None:
    record(tmp_path / "Actor_12" / "03-01-06-01-02-01-12.wav", rate=48_000)
    record(tmp_path / "Actor_01" / "03-01-01-01-01-02-01.wav")
    record(tmp_path / "Actor_01" / "03-02-05-02-01-02-01.wav")
    record(tmp_path / "Actor_01" / "noise.wav")
    prepared = prepared_by(Ravdess(), tmp_path)
    calm, afraid = prepared.utterances
    assert (afraid.speaker, afraid.text) == ("Actor_12", "dogs are sitting by the door")
    assert afraid.attributes == {"emotion": "fear", "intensity": "normal", "channel": "speech", "gender": "female"}
    assert (calm.speaker, calm.attributes["emotion"], calm.attributes["gender"]) == ("Actor_01", "neutral", "male")
    assert kinds(prepared) == {"03-02-05-02-01-02-01.wav": "song", "noise.wav": "name"}
    sung = next(u for u in found(Ravdess(song=True), tmp_path)[0] if u.attributes["channel"] == "song")
    assert (sung.attributes["emotion"], sung.attributes["intensity"]) == ("anger", "strong")


def test_crema_d(tmp_path: Path) -> None:
    record(tmp_path / "AudioWAV" / "1001_DFA_ANG_XX.wav")
    record(tmp_path / "AudioWAV" / "1002_IEO_SAD_HI.wav")
    record(tmp_path / "AudioWAV" / "1002_XYZ_SAD_HI.wav")
    write(tmp_path / "VideoDemographics.csv", "ActorID,Age,Sex,Race,Ethnicity\n1001,51,Male,Caucasian,Not Hispanic\n")
    prepared = prepared_by(CremaD(), tmp_path)
    first, second = prepared.utterances
    assert (first.speaker, first.text) == ("1001", "don't forget a jacket")
    assert first.attributes == {"emotion": "anger", "gender": "male", "age": "51"}
    assert second.attributes == {"emotion": "sadness", "intensity": "high"}
    assert kinds(prepared) == {"1002_XYZ_SAD_HI.wav": "name"}


@pytest.fixture
def iemocap(tmp_path: Path) -> Path:
    session, dialogue = tmp_path / "Session1", "Ses01F_impro01"
    for name in ("F000", "M000", "F001", "M001"):
        record(session / "sentences" / "wav" / dialogue / f"{dialogue}_{name}.wav")
    record(session / "dialog" / "wav" / f"{dialogue}.wav")
    write(
        session / "dialog" / "transcriptions" / f"{dialogue}.txt",
        f"{dialogue}_F000 [006.2901-008.2357]: Excuse me.\n"
        f"{dialogue}_M000 [010.0100-011.3925]: Do you have your forms?\n"
        "M: [LAUGHTER]\n"
        f"{dialogue}_F001 [014.8872-018.0175]: Let me see them.\n",
    )
    write(
        session / "dialog" / "EmoEvaluation" / f"{dialogue}.txt",
        "% [START_TIME - END_TIME] TURN_NAME EMOTION [V, A, D]\n\n"
        f"[6.2901 - 8.2357]\t{dialogue}_F000\tneu\t[2.5000, 2.5000, 2.5000]\n"
        "C-E2:\tNeutral;\t()\nA-E3:\tval 3; act 2; dom  2;\t()\n\n"
        f"[10.0100 - 11.3925]\t{dialogue}_M000\tfru\t[2.5000, 3.5000, 4.0000]\n"
        f"[14.8872 - 18.0175]\t{dialogue}_F001\txxx\t[2.0000, 3.0000, 3.0000]\n",
    )
    return tmp_path


def test_iemocap(iemocap: Path) -> None:
    prepared = prepared_by(Iemocap(), iemocap)
    said = {utterance.audio.stem[-4:]: utterance for utterance in prepared.utterances}
    assert (said["F000"].speaker, said["F000"].text) == ("Ses01F", "Excuse me.")
    assert said["M000"].speaker == "Ses01M"
    assert said["M000"].attributes == {
        "gender": "male", "session": "Ses01", "kind": "improvised", "emotion": "frustration",
        "valence": "2.5000", "activation": "3.5000", "dominance": "4.0000",
    }  # fmt: skip
    assert "emotion" not in said["F001"].attributes, "the raters did not agree"
    assert said["F001"].attributes["activation"] == "3.0000"
    assert kinds(prepared) == {"Ses01F_impro01_M001.wav": "transcript"}


HEADING = "Sr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID,Season,Episode,StartTime,EndTime\n"


def test_meld(tmp_path: Path) -> None:
    write(tmp_path / "train" / "train_sent_emo.csv", HEADING + (
        '1,"also I was the point person, you know.",Chandler,neutral,neutral,0,0,8,21,"00:16:16,059","00:16:21,731"\n'
        '2,You must\'ve had your hands full.,The Interviewer,joy,positive,0,1,8,21,"00:16:21,940","00:16:23,442"\n'
    ))  # fmt: skip
    write(tmp_path / "test_sent_emo.csv", HEADING + "1,Why do all?,Mark,surprise,positive,0,0,3,19,a,b\n")
    record(tmp_path / "train" / "train_splits" / "dia0_utt0.wav")
    record(tmp_path / "output_repeated_splits_test" / "dia0_utt0.wav")
    record(tmp_path / "output_repeated_splits_test" / "dia7_utt0.wav")
    record(tmp_path / "dia1_utt0.wav")
    prepared = prepared_by(Meld(), tmp_path)
    first, second = prepared.utterances
    assert (first.speaker, first.text) == ("Chandler", "also I was the point person, you know.")
    assert first.attributes == {"split": "train", "emotion": "neutral", "sentiment": "neutral", "dialogue": "train-0"}
    assert second.attributes["split"] == "test"
    assert second.attributes["emotion"] == "surprise"
    assert kinds(prepared) == {"dia0_utt1": "missing", "dia7_utt0.wav": "unlisted", "dia1_utt0.wav": "name"}


def test_meld_tables_of_another_kind_are_refused(tmp_path: Path) -> None:
    record(tmp_path / "train" / "dia0_utt0.wav")
    write(tmp_path / "train_sent_emo.csv", "Utterance,Speaker\na,b\n")
    with pytest.raises(DataError, match="expected Emotion too"):
        found(Meld(), tmp_path)


@pytest.mark.parametrize("layout", ["ravdess", "crema-d", "iemocap", "meld"])
def test_other_layouts_are_refused(layout: str, tmp_path: Path) -> None:
    record(tmp_path / "a" / "b.wav")
    with pytest.raises(DataError, match=r"name (the corpus's|its) folder"):
        found(SOURCES.get(layout)(), tmp_path)
