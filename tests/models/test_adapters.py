from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import LlamaForCausalLM, WhisperConfig, WhisperModel
from transformers.models.whisper.modeling_whisper import WhisperDecoder, WhisperEncoder

from sordino import ConfigError
from sordino.models import LoraOptions, SpeechLLM, load_adapter
from sordino.models.adapters import add_lora

Make = Callable[..., SpeechLLM]
Train = Callable[..., None]


def test_names_are_full_paths_in_the_order_of_components(model: SpeechLLM) -> None:
    names = [slot.name for slot in model.layout.slots]
    assert names[0] == "encoder.layers.0.self_attn.k_proj.lora_A.weight"
    assert names[-1] == "decoder.model.layers.1.self_attn.v_proj.lora_B.weight"
    assert list(model.layout.components) == ["encoder", "connector", "decoder"]
    assert len(names) == 2 * 3 * 2 + 2 + 2 * 2 * 2
    assert len(model.layout.grouped("pair").groups) == 2 * 3 + 2 + 2 * 2
    assert [g.name for g in model.layout.grouped("layer").groups] == [
        "encoder.layers.0",
        "encoder.layers.1",
        "connector.projection",
        "decoder.model.layers.0",
        "decoder.model.layers.1",
    ]


def test_whispers_own_decoder_is_never_adapted(make_whisper_config: Callable[..., WhisperConfig]) -> None:
    encoder = WhisperEncoder(make_whisper_config())
    encoder.decoder = WhisperDecoder(make_whisper_config())
    add_lora(encoder, component="encoder", targets=["self_attn.q_proj"], options=LoraOptions())
    adapted = [name for name, tensor in encoder.named_parameters() if tensor.requires_grad]
    assert len(adapted) == 4
    assert all(name.startswith("layers.") for name in adapted)


def test_targets_are_whole_paths_not_suffixes(make_model: Make) -> None:
    with pytest.raises(ConfigError, match=r"encoder_targets: 'q_proj' is no linear layer .*self_attn\.q_proj"):
        make_model(lora=LoraOptions(encoder_targets=("q_proj",)))
    with pytest.raises(ConfigError, match=r"'self_attn\.o_prj' .*did you mean 'self_attn\.o_proj'"):
        make_model(lora=LoraOptions(decoder_targets=("self_attn.o_prj",)))


def test_other_targets(make_model: Make) -> None:
    model = make_model(lora=LoraOptions(rank=2, encoder_targets=("fc1", "fc2"), decoder_targets=("mlp.up_proj",)))
    assert model.layout.components["encoder"] == 2 * 2 * 2 * (16 + 24)
    assert model.layout.components["decoder"] == 2 * 2 * (24 + 32)


def test_frozen_encoder_has_no_adapters_and_no_gradient(make_model: Make, features: torch.Tensor) -> None:
    model = make_model(train_encoder=False)
    assert "encoder" not in model.layout.components
    assert not model.encode(features).requires_grad


def test_frozen_connector(make_model: Make, features: torch.Tensor, texts: list[str]) -> None:
    model = make_model(train_connector=False)
    assert list(model.layout.components) == ["encoder", "decoder"]
    model.loss(features, texts).backward()
    assert model.flat.gradient[: model.layout.components["encoder"]].any()


def test_adapters_off_is_the_base(
    make_model: Make, model: SpeechLLM, features: torch.Tensor, texts: list[str], train: Train
) -> None:
    fresh = make_model()
    train(model, features, texts)
    assert not torch.allclose(model.encode(features), fresh.encode(features))
    for module in model.modules():
        if hasattr(module, "lora_A"):
            module.enable_adapters(enabled=False)
    assert torch.equal(model.encode(features), fresh.encode(features))


def test_gradients_are_in_trainable_tensors_only(model: SpeechLLM, features: torch.Tensor, texts: list[str]) -> None:
    model.loss(features, texts).backward()
    with_gradient = {name for name, tensor in model.named_parameters() if tensor.grad is not None}
    assert with_gradient == {name for name, tensor in model.named_parameters() if tensor.requires_grad}
    assert all("lora_" in name or name.startswith("connector.") for name in with_gradient)


def test_frozen_bits_stay(model: SpeechLLM, features: torch.Tensor, texts: list[str], train: Train) -> None:
    frozen = {
        name: t.clone() for name, t in model.state_dict().items() if "lora_" not in name and "connector" not in name
    }
    before = model.flat.values.clone()
    train(model, features, texts)
    assert (model.flat.values != before).float().mean() > 0.9
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in frozen.items())


def test_b_alone(make_model: Make, features: torch.Tensor, texts: list[str], train: Train, tmp_path: Path) -> None:
    model = make_model(lora=LoraOptions(train="b"))
    assert not any("lora_A" in slot.name for slot in model.layout.slots)
    fixed = {name: t.clone() for name, t in model.named_parameters() if "lora_A" in name}
    train(model, features, texts)
    assert all(torch.equal(fixed[name], t) for name, t in model.named_parameters() if "lora_A" in name)
    model.save(tmp_path)
    assert any("lora_A" in name for name in load_file(tmp_path / "encoder" / "adapter_model.safetensors"))


def test_everyone_starts_from_the_same_place(make_model: Make) -> None:
    torch.manual_seed(5)
    first = make_model().flat.values
    torch.manual_seed(6)
    assert torch.equal(make_model().flat.values, first)


@pytest.mark.parametrize("train_a", ["both", "b"])
def test_save_and_load_to_the_bit(
    make_model: Make, features: torch.Tensor, texts: list[str], train: Train, tmp_path: Path, train_a: Any
) -> None:
    model = make_model(lora=LoraOptions(train=train_a))
    train(model, features, texts)
    model.save(tmp_path)
    again = make_model(lora=LoraOptions(train=train_a))
    load_adapter(again, tmp_path)
    assert torch.equal(again.flat.values, model.flat.values)
    assert torch.equal(again.loss(features, texts), model.loss(features, texts))
    again.flat.values.zero_()
    assert not any(t.any() for _, t in again.named_parameters() if t.requires_grad)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_peft_loads_what_we_save(
    model: SpeechLLM,
    features: torch.Tensor,
    texts: list[str],
    train: Train,
    tmp_path: Path,
    whisper_folder: Path,
    llama_folder: Path,
) -> None:
    train(model, features, texts)
    model.save(tmp_path)
    encoder = WhisperModel.from_pretrained(whisper_folder, dtype=torch.float32).encoder
    decoder = LlamaForCausalLM.from_pretrained(llama_folder, dtype=torch.float32)
    plain = decoder(inputs_embeds=torch.ones(1, 3, 24)).logits
    encoder = PeftModel.from_pretrained(encoder, tmp_path / "encoder").eval()
    decoder = PeftModel.from_pretrained(decoder, tmp_path / "decoder").eval()
    assert torch.equal(encoder(features).last_hidden_state, model.encode(features))
    ours = model.decoder(inputs_embeds=torch.ones(1, 3, 24)).logits
    assert torch.equal(decoder(inputs_embeds=torch.ones(1, 3, 24)).logits, ours)
    assert not torch.allclose(plain, ours)


def test_loading_into_another_model_is_refused(make_model: Make, model: SpeechLLM, tmp_path: Path) -> None:
    model.save(tmp_path)
    with pytest.raises(ConfigError, match=r"r = 8, the model has 4"):
        load_adapter(make_model(lora=LoraOptions(rank=4)), tmp_path)
    with pytest.raises(ConfigError, match=r"lora_alpha = 16\.0, the model has 8"):
        load_adapter(make_model(lora=LoraOptions(alpha=8.0)), tmp_path)
    with pytest.raises(ConfigError, match="an adapter for the encoder"):
        load_adapter(make_model(train_encoder=False), tmp_path)
    with pytest.raises(ConfigError, match=r"tensor .*v_proj.* expected None"):
        load_adapter(make_model(lora=LoraOptions(decoder_targets=("self_attn.q_proj",))), tmp_path)
    with pytest.raises(ConfigError, match="nowhere does not exist; name the model"):
        load_adapter(model, tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="no adapter for the encoder"):
        load_adapter(model, tmp_path.parent)
    (tmp_path / "connector.safetensors").write_bytes(b"text")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_adapter(model, tmp_path)
