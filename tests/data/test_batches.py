from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import WhisperFeatureExtractor

from sordino.data import FeatureStore, Utterance, read_audio, read_manifest, split_at_pauses, write_audio
from sordino.data import batches as batches_module
from sordino.errors import DataError


def clips(folder: Path, *seconds: float) -> list[Utterance]:
    made = []
    for index, length in enumerate(seconds):
        audio = np.random.default_rng(index).normal(0, 0.1, int(16_000 * length)).astype(np.float32)
        file = folder / f"{index}.flac"
        made.append(Utterance(audio=file, text="", speaker="s", duration_s=write_audio(file, audio)))
    return made


def test_features_are_those_of_whisper_on_real_recordings(data_root: Path) -> None:
    utterances = read_manifest(data_root / "fsdd" / "manifest.jsonl")[:2000:400]
    features = FeatureStore(80, 2.0).features(utterances)
    assert features.dtype == torch.float32
    assert features.shape == (5, 80, 200)
    audio = [read_audio(utterance.audio) for utterance in utterances]
    extractor = WhisperFeatureExtractor(chunk_length=2)
    reference = extractor(audio, sampling_rate=16_000, return_tensors="pt")["input_features"]
    torch.testing.assert_close(features, reference, atol=1.5e-3, rtol=0)


def test_a_clip_does_not_depend_on_its_batch_nor_on_memory(tmp_path: Path) -> None:
    utterances = clips(tmp_path, 0.3, 1.9, 0.7)
    together = FeatureStore(80, 2.0)
    batch = together.features(utterances)
    for index, utterance in enumerate(utterances):
        assert torch.equal(batch[index], FeatureStore(80, 2.0, limit_mb=0).features([utterance])[0])
        assert torch.equal(batch[index], together.features([utterance])[0])


def test_memory_is_bounded_and_the_least_used_clip_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        batches_module, "read_audio", lambda path, **kw: (read.append(path.stem), read_audio(path, **kw))[1]
    )
    utterances = clips(tmp_path, 1.0, 1.0, 1.0)
    store = FeatureStore(80, 2.0, limit_mb=2.5 * 80 * 200 * 2 / 1e6)  # two and a half clips
    store.features([utterances[0], utterances[1], utterances[0]])
    assert read == ["0", "1"]
    store.features([utterances[2], utterances[0]])
    assert read == ["0", "1", "2"], "clip 1 was the least recently used"
    store.features([utterances[1]])
    assert read == ["0", "1", "2", "1"]
    assert store.bytes_kept == 2 * 80 * 200 * 2 <= store.limit_bytes


def test_pieces_of_one_recording_are_kept_apart(tmp_path: Path) -> None:
    [whole] = clips(tmp_path, 2.0)
    first, second = (
        Utterance(audio=whole.audio, text="", speaker="s", duration_s=1.0, offset_s=offset) for offset in (0.0, 1.0)
    )
    store = FeatureStore(80, 2.0)
    features = store.features([first, second])
    assert not torch.equal(features[0], features[1])


def test_audio_longer_than_the_window(tmp_path: Path) -> None:
    short, long = clips(tmp_path, 1.0, 5.0)
    store = FeatureStore(80, 2.0)
    assert torch.equal(store.windows(short), store.features([short]))
    assert store.windows(long).shape[1:] == (80, 200)
    assert 3 <= len(store.windows(long)) <= 4
    with pytest.raises(
        DataError, match=r"1\.flac is longer than the window of 2\.0 s; split it, raise model\.window_s"
    ):
        store.features([short, long])
    with pytest.raises(DataError, match="at least one utterance"):
        store.features([])


@given(length=st.integers(1, 5_000), window=st.integers(4, 900), seed=st.integers(0, 9))
def test_pieces_fit_and_join_to_the_whole(length: int, window: int, seed: int) -> None:
    audio = np.random.default_rng(seed).normal(size=length).astype(np.float32)
    pieces = split_at_pauses(audio, window)
    np.testing.assert_array_equal(np.concatenate(pieces), audio)
    assert all(0 < len(piece) <= window for piece in pieces)
    assert len(pieces) <= length / (window * 0.75 - 1) + 1


def test_cuts_lie_in_pauses() -> None:
    audio = np.random.default_rng(0).normal(0, 0.1, 5 * 16_000).astype(np.float32)
    for pause in (1.7, 3.4):
        audio[int(pause * 16_000) : int((pause + 0.1) * 16_000)] = 0
    ends = np.cumsum([len(piece) for piece in split_at_pauses(audio, 2 * 16_000)])[:-1] / 16_000
    assert len(ends) == 2
    assert all(pause < end < pause + 0.1 for pause, end in zip((1.7, 3.4), ends, strict=True))


def test_long_real_recordings(data_root: Path) -> None:
    utterance = read_manifest(data_root / "librispeech-10" / "manifest.jsonl")[0]
    windows = FeatureStore(80, 2.0).windows(utterance)
    assert 8 <= len(windows) <= 10
    assert torch.isfinite(windows).all()


class Doubling:
    """An encoder that counts what it is asked."""

    def __init__(self, factor: float = 2.0) -> None:
        self.factor, self.seen = factor, 0

    @property
    def digest(self) -> str:
        return str(self.factor)

    def __call__(self, log_mels: torch.Tensor) -> torch.Tensor:
        self.seen += len(log_mels)
        return (self.factor * log_mels[:, :4, ::2]).transpose(1, 2)


def test_a_frozen_encoder_is_asked_once_for_each_clip(tmp_path: Path) -> None:
    short, other, long = clips(tmp_path, 1.0, 0.5, 5.0)
    store, encoder = FeatureStore(80, 2.0), Doubling()
    first = store.features([short, other], encoder=encoder)
    assert first.shape == (2, 100, 4)
    assert encoder.seen == 2
    assert torch.equal(store.features([other, short], encoder=encoder).flip(0), first)
    assert torch.equal(first, encoder(store.features([short, other])))
    windows = store.windows(long, encoder=encoder)
    assert encoder.seen == 4 + len(windows)
    assert torch.equal(store.windows(long, encoder=encoder), windows)
    assert encoder.seen == 4 + len(windows)
    encoder.factor = 3.0
    assert torch.equal(store.features([short], encoder=encoder), 1.5 * first[:1])


def test_a_recording_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    [clip] = clips(tmp_path, 1.0)
    store, encoder = FeatureStore(80, 2.0), Doubling()
    before = store.features([clip]), store.features([clip], encoder=encoder)
    write_audio(clip.audio, np.random.default_rng(7).normal(0, 0.1, 15_000).astype(np.float32))
    after = store.features([clip]), store.features([clip], encoder=encoder)
    fresh = FeatureStore(80, 2.0).features([clip])
    assert torch.equal(after[0], fresh)
    assert torch.equal(after[1], Doubling()(fresh))
    assert not any(torch.equal(*pair) for pair in zip(before, after, strict=True))


def test_encoded_clips_respect_the_bound(tmp_path: Path) -> None:
    utterances = clips(tmp_path, 1.0, 1.0, 1.0)
    store, encoder = FeatureStore(80, 2.0, limit_mb=2 * 100 * 4 * 4 / 1e6), Doubling()
    store.features(utterances, encoder=encoder)
    assert store.bytes_kept == store.limit_bytes, "two clips, and no log-mels beside what was made of them"
