"""Frames of frozen encoders: as many as the clip is long, the same as the model gives on its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, HubertConfig, HubertModel, WhisperConfig, WhisperModel

from sordino.data import LogMel
from sordino.errors import ConfigError
from sordino.models.emotion import FrozenSpeech, FrozenText
from sordino.models.pocket import FOLDER


@pytest.fixture(scope="module")
def whisper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    config = WhisperConfig(
        vocab_size=8, num_mel_bins=16, d_model=8, encoder_layers=3, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=8, decoder_ffn_dim=8, max_source_positions=100, pad_token_id=0,
        bos_token_id=0, eos_token_id=0, decoder_start_token_id=0,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("whisper")
    WhisperModel(config).save_pretrained(folder)
    return folder


def audio(seconds: float) -> np.ndarray:
    return np.random.default_rng(0).normal(size=int(seconds * 16_000)).astype(np.float32)


def test_a_short_clip_sounds_as_it_does_in_the_whole_window(whisper: Path) -> None:
    speech, sound = FrozenSpeech(str(whisper)), audio(1.2)
    assert (speech.num_mels, speech.window_s, speech.width) == (16, 2.0, 8)
    frames = speech(torch.from_numpy(LogMel(16, 1.2)(sound)))
    assert frames.shape == (60, 8)
    window = torch.from_numpy(LogMel(16, 2.0)(sound))[None]
    with torch.no_grad():
        expected = WhisperModel.from_pretrained(whisper).encoder.eval()(window).last_hidden_state[0, :60]
    assert torch.allclose(frames[:58], expected[:58], atol=0.05)  # the last frames see where the samples end


def test_fewer_layers_and_a_window_as_long_as_the_longest_clip(whisper: Path) -> None:
    heard = torch.from_numpy(LogMel(16, 0.5)(audio(0.5)))
    short = FrozenSpeech(str(whisper), layers=1, longest_s=0.7)
    assert short.window_s == pytest.approx(0.7)
    assert short(heard).shape == (25, 8)
    assert not torch.equal(short(heard), FrozenSpeech(str(whisper), longest_s=0.7)(heard))
    assert torch.equal(short(heard), short(heard))
    with pytest.raises(ConfigError, match="from 1 to 3"):
        FrozenSpeech(str(whisper), layers=4)


def test_a_model_of_huberts_kind_hears_the_waveform(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = HubertConfig(
        hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8, conv_dim=(4, 4),
        conv_stride=(20, 16), conv_kernel=(20, 16), num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    HubertModel(config).save_pretrained(tmp_path)
    speech = FrozenSpeech(str(tmp_path), layers=1)
    assert speech.num_mels is None
    assert speech(torch.from_numpy(audio(1.0))).shape == (50, 8)


def test_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    small = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=9)
    BertModel(small).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="expected a Whisper, or one of hubert"):
        FrozenSpeech(str(tmp_path))


def test_each_token_of_a_text_has_a_frame() -> None:
    text = FrozenText(str(FOLDER / "decoder"))
    assert text.frames("zażółć").shape == (6, text.width)
    assert torch.equal(text.frames(""), torch.zeros(1, text.width))
    assert torch.equal(text.frames("ab")[0], text.frames("ab")[0])
