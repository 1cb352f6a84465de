from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import WhisperForConditionalGeneration, WhisperModel

from sordino import ConfigError
from sordino.models.encoders import load_encoder, positions


def test_weights_are_those_of_the_full_checkpoint(whisper_folder: Path) -> None:
    expected = WhisperModel.from_pretrained(whisper_folder, dtype=torch.float32).encoder.state_dict()
    encoder = load_encoder(str(whisper_folder), window_s=None, stack=4, dtype=torch.float32)
    assert encoder.state_dict().keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in encoder.state_dict().items())


def test_checkpoint_with_an_output_layer_loads_too(whisper_folder: Path, tmp_path: Path) -> None:
    whole = WhisperForConditionalGeneration(WhisperModel.from_pretrained(whisper_folder).config)
    whole.save_pretrained(tmp_path)
    encoder = load_encoder(str(tmp_path), window_s=None, stack=1, dtype=torch.float32)
    expected = whole.model.encoder.state_dict()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in encoder.state_dict().items())


def test_encoder_saved_alone_loads_too(whisper_folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(str(whisper_folder), window_s=None, stack=1, dtype=torch.float32)
    encoder.save_pretrained(tmp_path)
    again = load_encoder(str(tmp_path), window_s=None, stack=1, dtype=torch.float32)
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in encoder.state_dict().items())


def test_window_cuts_the_position_table(whisper_folder: Path) -> None:
    full = load_encoder(str(whisper_folder), window_s=None, stack=2, dtype=torch.float32)
    short = load_encoder(str(whisper_folder), window_s=0.2, stack=2, dtype=torch.float32)
    assert torch.equal(short.embed_positions.weight, full.embed_positions.weight[:10])
    assert short(torch.zeros(1, 8, 20)).last_hidden_state.shape == (1, 10, 16)
    assert not short.embed_positions.weight.requires_grad


def test_half_precision_files_load_as_float32(whisper_folder: Path, tmp_path: Path) -> None:
    WhisperModel.from_pretrained(whisper_folder, dtype=torch.float16).save_pretrained(tmp_path)
    encoder = load_encoder(str(tmp_path), window_s=None, stack=1, dtype=torch.float32)
    assert {tensor.dtype for tensor in encoder.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("window_s", "stack", "words"),
    [
        (0.3, 4, r"window_s = 0\.3: expected a multiple of 0\.08 s .* to 0\.32"),
        (0.305, 1, r"expected a multiple of 0\.02 s"),
        (None, 3, r"window_s = 0\.4: expected a multiple of 0\.06"),
        (0.01, 1, "to 0.02"),
        (0.8, 4, r"positions for 0\.4 s only"),
    ],
)
def test_windows_that_do_not_fit(window_s: float | None, stack: int, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        positions(window_s, stack=stack, available=20)


@pytest.mark.parametrize(("window_s", "stack", "count"), [(30, 4, 1500), (2.0, 4, 100), (0.56, 4, 28), (None, 5, 1500)])
def test_windows_that_fit(window_s: float | None, stack: int, count: int) -> None:
    assert positions(window_s, stack=stack, available=1500) == count


def test_other_kinds_of_model_are_refused(llama_folder: Path) -> None:
    with pytest.raises(ConfigError, match="'llama' model; expected a Whisper-type one"):
        load_encoder(str(llama_folder), window_s=None, stack=1, dtype=torch.float32)


def test_missing_weights_are_refused(whisper_folder: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(whisper_folder, tmp_path / "broken"))
    weights = load_file(broken / "model.safetensors")
    save_file(
        {n: t for n, t in weights.items() if "encoder.layers.1" not in n},
        broken / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(ConfigError, match=r"lacks 15 of its weights, such as 'encoder\.layers\.1"):
        load_encoder(str(broken), window_s=None, stack=1, dtype=torch.float32)


def test_hub_id_that_cannot_be_had_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"model\.encoder = 'sordino/no-such-model' cannot be loaded .* local cache"):
        load_encoder("sordino/no-such-model", window_s=None, stack=1, dtype=torch.float32)


def test_broken_config_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no-such-type"}))
    with pytest.raises(ConfigError, match=r"model\.encoder = .* cannot be loaded"):
        load_encoder(str(tmp_path), window_s=None, stack=1, dtype=torch.float32)
