"""Modalities of an utterance: those that are there, each speaker's own scale, and real emotional speech."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from recorder import record

from sordino.data import ModalityFeatures, Utterance, read_manifest
from sordino.data.modalities import ProsodyTrack
from sordino.errors import ConfigError, DataError


class Counted:
    """A track of two columns that says how often it was asked; utterances without text lack it."""

    width = 2

    def __init__(self, frames: np.ndarray | None = None) -> None:
        self.asked = 0
        self.frames = frames

    def __call__(self, utterance: Utterance) -> np.ndarray | None:
        self.asked += 1
        if not utterance.text:
            return None
        return self.frames if self.frames is not None else np.full((3, 2), float(utterance.text), np.float32)


def clip(text: str, speaker: str = "a") -> Utterance:
    return Utterance(audio=Path(f"{speaker}-{text}.wav"), text=text, speaker=speaker, duration_s=1)


def test_an_absent_modality_is_absent(tmp_path: Path) -> None:
    audio = record(tmp_path / "a.wav", seconds=0.5)
    features = ModalityFeatures({"prosody": ProsodyTrack(), "face": Counted()})
    found = features.of(Utterance(audio=audio, text="", speaker="a", duration_s=0.5))
    assert set(found) == {"prosody"}
    assert found["prosody"].shape == (26, 5)
    assert found["prosody"].dtype == torch.float32
    assert set(features.of(Utterance(audio=audio, text="7", speaker="a", duration_s=0.5))) == {"prosody", "face"}
    assert features.widths == {"prosody": 5, "face": 2}


def test_each_clip_is_computed_once() -> None:
    track = Counted()
    features = ModalityFeatures({"face": track})
    for _ in range(3):
        features.of(clip("1"))["face"].zero_()  # what callers do to their copy changes nothing
        assert features.of(clip("1"))["face"][0, 0] == 1
    assert track.asked == 1
    forgetful = ModalityFeatures({"face": track}, limit_mb=0)
    forgetful.of(clip("1"))
    forgetful.of(clip("1"))
    assert track.asked == 3


def test_every_speaker_has_a_scale_of_their_own() -> None:
    clips = [clip("1"), clip("3"), clip("10", "b"), clip("30", "b"), clip("5", "c")]
    features = ModalityFeatures({"face": Counted()}, own=clips)
    values = [float(features.of(utterance)["face"][0, 0]) for utterance in clips]
    assert values == pytest.approx([-1, 1, -1, 1, 0])
    assert float(features.of(clip("5", "nobody"))["face"][0, 0]) == 0


@pytest.mark.parametrize("frames", [np.zeros((0, 2)), np.zeros((4, 3)), np.zeros(4), np.full((4, 2), np.nan)], ids=str)
def test_frames_that_cannot_be_are_refused(frames: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"modality 'face' of .* expected \[frames, 2\]"):
        ModalityFeatures({"face": Counted(frames.astype(np.float32))}).of(clip("1"))


def test_no_modality_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match="no modality"):
        ModalityFeatures({})


def test_prosody_tells_emotions_apart(data_root: Path) -> None:
    """Mean pitch on the speaker's own scale, of real actors: fear and surprise are higher than calm and sadness."""
    clips = [u for u in read_manifest(data_root / "nemo" / "manifest.jsonl") if u.speaker in {"s1", "s5", "s9"}]
    features = ModalityFeatures(own=clips)
    pitch: dict[str, list[float]] = {}
    for utterance in clips:
        pitch.setdefault(utterance.attributes["emotion"], []).append(features.of(utterance)["prosody"][:, 0].mean())
    high, low = (np.array(pitch[one] + pitch[other]) for one, other in (("fear", "surprised"), ("neutral", "sadness")))
    assert high.mean() - low.mean() > 1.5 * np.hypot(high.std(), low.std()) / 2**0.5
