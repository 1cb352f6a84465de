"""What another run finds on disk: the same as computing it, and only for the same recording, model and settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from sordino.data import FeatureStore, Utterance, clip_memory, write_audio
from sordino.data.clips import ClipStore
from sordino.data.shelf import Shelf

Ask = Callable[..., torch.Tensor]


class Counting:
    """A frozen encoder, and a listener, that counts what it computes."""

    def __init__(self, digest: str = "a") -> None:
        self.digest, self.heard = digest, 0

    def __call__(self, clip: torch.Tensor) -> torch.Tensor:
        self.heard += 1
        return clip.transpose(-1, -2) * 2


@pytest.fixture
def clip(tmp_path: Path) -> Utterance:
    return record(tmp_path / "clip.flac")


def record(path: Path, seed: int = 0) -> Utterance:
    audio = np.random.default_rng(seed).normal(0, 0.1, 16_000).astype(np.float32)
    return Utterance(audio=path, text="one", speaker="s", duration_s=write_audio(path, audio))


def features(clip: Utterance, encoder: Counting, *, mels: int = 8, window_s: float = 2.0) -> torch.Tensor:
    """As a new process would ask."""
    return FeatureStore(mels, window_s, shelf=Shelf(10**7)).features([clip], encoder=encoder)


def frames(clip: Utterance, listener: Counting, *, mels: int = 8, window_s: float = 2.0) -> torch.Tensor:
    store = ClipStore(listener, num_mels=mels, window_s=window_s, shelf=Shelf(10**7), digest=listener.digest)
    return store.clip(clip)


@pytest.mark.parametrize("ask", [features, frames])
def test_the_next_process_computes_nothing(ask: Ask, clip: Utterance, cache: Path) -> None:
    first, second = Counting(), Counting()
    before, after = ask(clip, first), ask(clip, second)
    assert (first.heard, second.heard) == (1, 0)
    assert torch.equal(before, after)
    assert before.any()


@pytest.mark.parametrize("ask", [features, frames])
def test_another_model_setting_or_recording_is_computed(ask: Ask, clip: Utterance, cache: Path) -> None:
    ask(clip, Counting())
    for changed, settings in ((Counting("b"), {}), (Counting(), {"mels": 9}), (Counting(), {"window_s": 3.0})):
        ask(clip, changed, **settings)
        assert changed.heard == 1
    touched = Counting()
    os.utime(clip.audio, (1, 1))
    ask(clip, touched)
    other = Counting()
    part = Utterance(audio=clip.audio, text="", speaker="s", duration_s=0.5, offset_s=0.25)
    ask(part, other)
    assert (touched.heard, other.heard) == (1, 1)


def test_a_relative_path_is_not_taken_for_another_folders(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for index, folder in enumerate(("one", "two")):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        soundfile.write("clip.wav", np.full(8_000, 0.1 * (index + 1)), 16_000, subtype="PCM_16")  # of the same size
        os.utime("clip.wav", (1, 1))
        encoder = Counting()
        features(Utterance(audio=Path("clip.wav"), text="", speaker="s", duration_s=0.5), encoder)
        assert encoder.heard == 1


def test_log_mels_are_kept_apart_from_frames(clip: Utterance, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FeatureStore(8, 2.0, shelf=Shelf(10**7))
    mels, encoded = store.features([clip]), store.features([clip], encoder=Counting())
    monkeypatch.setattr(FeatureStore, "_log_mels", lambda *_: pytest.fail("computed again"))
    again = FeatureStore(8, 2.0, shelf=Shelf(10**7))
    assert torch.equal(again.features([clip]), mels)
    assert torch.equal(again.features([clip], encoder=Counting()), encoded)


def test_another_version_of_a_package_computes_anew(
    clip: Utterance, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features(clip, Counting())
    monkeypatch.setattr(clip_memory, "_versions", lambda: ["another"])
    encoder = Counting()
    features(clip, encoder)
    assert encoder.heard == 1


def test_nothing_is_written_unless_asked_for_nor_without_a_fingerprint(clip: Utterance, cache: Path) -> None:
    FeatureStore(8, 2.0).features([clip])
    ClipStore(Counting(), num_mels=8, window_s=2.0).clip(clip)
    assert not cache.exists()
    shelf = Shelf(10**7)
    ClipStore(Counting(), num_mels=8, window_s=2.0, shelf=shelf).clip(clip)
    assert not list(shelf.folder.iterdir())
