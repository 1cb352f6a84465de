"""As many frames as a clip has audio, computed once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sordino.data import Utterance, write_audio
from sordino.data.clips import ClipStore
from sordino.data.features import LogMel
from sordino.errors import DataError


class Counting:
    """Passes on what it hears, and counts."""

    def __init__(self) -> None:
        self.heard = 0

    def __call__(self, clip: torch.Tensor) -> torch.Tensor:
        self.heard += 1
        return clip.T if clip.ndim == 2 else clip[:, None]


def spoken(folder: Path, seconds: float, name: str = "a") -> Utterance:
    audio = np.random.default_rng(1).uniform(-0.5, 0.5, int(16_000 * seconds)).astype(np.float32)
    return Utterance(
        audio=folder / f"{name}.flac",
        text="one",
        speaker="s",
        duration_s=write_audio(folder / f"{name}.flac", audio),
    )


def test_frames_follow_the_length_and_equal_those_of_a_longer_window(tmp_path: Path) -> None:
    listener = Counting()
    store = ClipStore(listener, num_mels=8, window_s=2.0)
    short, long = spoken(tmp_path, 0.33, "short"), spoken(tmp_path, 1.5, "long")
    assert store.clip(short).shape == (34, 8)  # a whole number of 20 ms
    assert store.clip(long).shape == (150, 8)
    store.clip(short)
    assert listener.heard == 2
    audio = ClipStore(Counting(), num_mels=None, window_s=2.0).clip(long)[:, 0].numpy()
    assert len(audio) == 24_000
    assert np.allclose(store.clip(long).T, LogMel(8, 2.0)(audio)[:, :150], atol=1e-5)


def test_what_is_longer_than_the_window_is_cut_for_tests_and_refused_for_training(tmp_path: Path) -> None:
    store = ClipStore(Counting(), num_mels=None, window_s=1.0)
    long = spoken(tmp_path, 2.5)
    assert len(store.pieces(long)) >= 3
    assert sum(len(piece) for piece in store.pieces(long)) == 40_000
    with pytest.raises(DataError, match=r"raise model.window_s"):
        store.clip(long)


def test_another_recording_is_another_clip_and_a_bound_holds(tmp_path: Path) -> None:
    listener = Counting()
    store = ClipStore(listener, num_mels=None, window_s=2.0, limit_mb=0.0)
    utterance = spoken(tmp_path, 0.5)
    store.clip(utterance)
    store.clip(utterance)
    assert listener.heard == 2  # nothing is kept
    kept = ClipStore(listener, num_mels=None, window_s=2.0)
    before = kept.clip(utterance)
    spoken(tmp_path, 0.7)
    assert len(kept.clip(utterance)) != len(before) or listener.heard == 4
