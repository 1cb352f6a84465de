from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sordino import ConfigError
from sordino.models import LoraOptions, ModelOptions, SpeechLLM, load_model, model_shapes, save_base
from sordino.models.connectors.linear import Linear
from sordino.models.connectors.mlp import MLP

TURBO = {
    "d_model": 1280,
    "encoder_layers": 32,
    "encoder_attention_heads": 20,
    "encoder_ffn_dim": 5120,
    "num_mel_bins": 128,
    "max_source_positions": 1500,
}
TINYLLAMA = {
    "hidden_size": 2048,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "intermediate_size": 5632,
    "vocab_size": 32000,
}
EUROLLM = TINYLLAMA | {"num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128}
VOXTRAL_TEXT = TINYLLAMA | {
    "hidden_size": 3072,
    "num_hidden_layers": 30,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 8192,
}


@pytest.fixture
def published(
    tmp_path: Path, make_whisper_config: Callable[..., Any], make_llama_config: Callable[..., Any]
) -> Callable[..., ModelOptions]:
    """Options of a published system, of which only the configs are there."""

    def make(decoder: dict[str, Any], **changes: Any) -> ModelOptions:
        make_whisper_config(**TURBO).save_pretrained(tmp_path / "encoder")
        make_llama_config(**decoder).save_pretrained(tmp_path / "decoder")
        return ModelOptions(encoder=str(tmp_path / "encoder"), decoder=str(tmp_path / "decoder"), **changes)

    return make


@pytest.mark.parametrize(
    ("decoder", "connector", "expected"),
    [
        (TINYLLAMA, Linear(stack=1), {"encoder": 1_966_080, "connector": 2_623_488, "decoder": 1_126_400}),
        (TINYLLAMA, Linear(stack=5), {"encoder": 1_966_080, "connector": 13_109_248, "decoder": 1_126_400}),
        (EUROLLM, Linear(stack=5), {"encoder": 1_966_080, "connector": 13_109_248, "decoder": 1_376_256}),
        (VOXTRAL_TEXT, MLP(stack=4), {"encoder": 1_966_080, "connector": 25_165_824, "decoder": 2_703_360}),
    ],
)
def test_published_counts_without_weights(
    published: Callable[..., ModelOptions], decoder: dict[str, Any], connector: Any, expected: dict[str, int]
) -> None:
    layout = model_shapes(published(decoder, connector=connector))
    assert layout.components == expected
    assert sum(slot.component == "encoder" for slot in layout.slots) == 192
    matrices = 2 * 2 * decoder["num_hidden_layers"]
    assert sum(slot.component == "decoder" for slot in layout.slots) == matrices


def test_frozen_encoder_and_b_alone_without_weights(published: Callable[..., ModelOptions]) -> None:
    layout = model_shapes(published(TINYLLAMA, train_encoder=False, lora=LoraOptions(train="b")))
    assert layout.components["decoder"] == 22 * 8 * (2048 + 256)
    assert "encoder" not in layout.components


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"train_encoder": False},
        {"train_connector": False},
        {"lora": LoraOptions(train="b", rank=2)},
        {"window_s": 0.2},
    ],
)
def test_shapes_equal_the_loaded_model(make_options: Callable[..., ModelOptions], changes: dict[str, Any]) -> None:
    options = make_options(**changes)
    assert model_shapes(options) == load_model(options).layout


def test_window_must_fit_the_stacking(make_options: Callable[..., ModelOptions]) -> None:
    options = make_options(window_s=0.3, connector=Linear(stack=4))
    for make in (load_model, model_shapes):
        with pytest.raises(ConfigError, match=r"a multiple of 0\.08 s"):
            make(options)


def test_window_shortens_the_input(make_model: Callable[..., SpeechLLM]) -> None:
    model = make_model(window_s=0.2)
    assert (model.window_s, model.num_frames, model.num_mels) == (0.2, 20, 8)
    assert len(model.transcribe(torch.zeros(2, 8, 20))) == 2


def test_base_folder_round_trip(
    model: SpeechLLM, tmp_path: Path, features: torch.Tensor, make_model: Callable[..., SpeechLLM]
) -> None:
    ids = torch.full((5, 3), 4)
    expected = make_model().logits(features, ids)
    bare = make_model(lora=LoraOptions(encoder_targets=(), decoder_targets=()))
    save_base(bare, tmp_path, connector=Linear(stack=2), dtype=torch.float32)
    base = load_model(ModelOptions(base=str(tmp_path)))
    assert (base.prompt, base.window_s) == ("say ", 0.4)
    assert torch.equal(base.logits(features, ids), expected)


def test_base_folder_in_half_precision_loads_as_float32(make_model: Callable[..., SpeechLLM], tmp_path: Path) -> None:
    bare = make_model(lora=LoraOptions(encoder_targets=(), decoder_targets=()))
    save_base(bare, tmp_path, connector=Linear(stack=2))
    base = load_model(ModelOptions(base=str(tmp_path)))
    assert {tensor.dtype for tensor in base.parameters()} == {torch.float32}


def test_folders_that_are_no_base(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected a folder with speech_llm\.json"):
        load_model(ModelOptions(base=str(tmp_path)))
    settings = tmp_path / "speech_llm.json"
    settings.write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_model(ModelOptions(base=str(tmp_path)))
    settings.write_text(json.dumps({"window": 2.0, "prompt": "", "connector": "linear"}))
    with pytest.raises(ConfigError, match="did you mean 'window_s'"):
        load_model(ModelOptions(base=str(tmp_path)))
