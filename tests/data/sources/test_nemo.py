"""A miniature of nEMO's own layout, and the real recordings with their manifest."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from recorder import found, kinds, prepared_by, record, write

from sordino.data.corpora.emotional_speech import EmotionalSpeech
from sordino.data.sources.nemo import Nemo
from sordino.errors import ConfigError, DataError

HEADING = "file_id\temotion\traw_text\tnormalized_text\tspeaker_id\tgender\tage\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = ""
    for speaker, gender in (("WR0", "male"), ("EB0", "female"), ("KD0", "female")):
        for number, emotion in enumerate(("anger", "fear", "neutral"), start=1):
            record(tmp_path / "samples" / f"{speaker}_{emotion}_{number}.wav", rate=24_000)
            rows += f"{speaker}_{emotion}_{number}.wav\t{emotion}\tNie.\tnie\t        {speaker}\t{gender}\t23\n"
    write(tmp_path / "data.tsv", HEADING + rows)
    return tmp_path


def test_the_official_layout(corpus: Path) -> None:
    utterances = {u.audio.name: u for u in prepared_by(Nemo(), corpus).utterances}
    assert len(utterances) == 9
    one = utterances["WR0_fear_2.wav"]
    assert (one.speaker, one.text, one.language, one.duration_s) == ("WR0", "nie", "pl", 0.5)
    assert one.attributes == {"emotion": "fear", "gender": "male", "age": "23"}


def test_rows_and_recordings_without_each_other_are_named(corpus: Path) -> None:
    (corpus / "samples" / "WR0_fear_2.wav").unlink()
    record(corpus / "samples" / "XX0_fear_2.wav")
    assert kinds(prepared_by(Nemo(), corpus)) == {"WR0_fear_2.wav": "missing", "XX0_fear_2.wav": "unlisted"}


def test_other_layouts_are_refused(tmp_path: Path) -> None:
    record(tmp_path / "a.wav")
    with pytest.raises(DataError, match=r"no data\.tsv"):
        found(Nemo(), tmp_path)
    write(tmp_path / "data.tsv", "file_id\temotion\na.wav\tfear\n")
    with pytest.raises(DataError, match="expected normalized_text"):
        found(Nemo(), tmp_path)


def test_the_real_recordings_as_a_corpus(data_root: Path) -> None:
    splits = EmotionalSpeech(path=data_root / "nemo", test_speakers=2).load(10)
    everyone = splits.train + splits.test
    assert len(everyone) == 424
    assert set(Counter(u.attributes["emotion"] for u in everyone)) == {
        "anger", "fear", "happiness", "neutral", "sadness", "surprised"
    }  # fmt: skip
    assert len({u.speaker for u in splits.test}) == 2
    assert not {u.speaker for u in splits.test} & {u.speaker for u in splits.train}
    assert splits.test_is == "held-out speakers"
    assert splits == EmotionalSpeech(path=data_root / "nemo", test_speakers=2).load(10), "the same every time"


def test_a_corpus_of_some_emotions(corpus: Path) -> None:
    splits = EmotionalSpeech(path=corpus, emotions=("anger", "fear"), test_speakers=1).load(10)
    assert Counter(u.attributes["emotion"] for u in splits.train + splits.test) == {"anger": 3, "fear": 3}
    assert splits.notes == ("left out 3 utterances without a wanted emotion.",)
    with pytest.raises(DataError, match=r"no utterance with an emotion of joy, but with anger, fear, neutral"):
        EmotionalSpeech(path=corpus, emotions=("joy",)).load(10)
    with pytest.raises(DataError, match=r"window_s = 0\.1"):
        EmotionalSpeech(path=corpus).load(0.1)
    with pytest.raises(ConfigError, match=r"data\.corpus\.layout = 'memo' is not known \(did you mean 'nemo'"):
        EmotionalSpeech(path=corpus, layout="memo")
