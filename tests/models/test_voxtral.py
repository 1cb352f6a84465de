"""A random tiny Voxtral, of the classes of the published one, against transformers' own forward pass."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from transformers import LlamaForCausalLM, VoxtralConfig, VoxtralForConditionalGeneration

from sordino import ConfigError
from sordino.models import ModelOptions, SpeechLLM, load_adapter, load_model, model_shapes
from sordino.models.connectors.mlp import MLP

AUDIO_TOKEN, POSITIONS, MELS = 0, 20, 8
PROMPT = "say {audio}now "


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, llama_folder: Path) -> Path:
    folder = tmp_path_factory.mktemp("voxtral")
    audio = {
        "model_type": "voxtral_encoder",
        "hidden_size": 16,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_mel_bins": MELS,
        "max_source_positions": POSITIONS,
        "initializer_range": 0.3,
    }
    text = {
        "model_type": "llama",
        "vocab_size": 29,
        "hidden_size": 24,
        "intermediate_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 128,
        "bos_token_id": None,
        "eos_token_id": 1,
        "initializer_range": 0.3,
    }
    torch.manual_seed(5)
    config = VoxtralConfig(audio_config=audio, text_config=text, audio_token_id=AUDIO_TOKEN)
    VoxtralForConditionalGeneration(config).save_pretrained(folder)
    for file in llama_folder.glob("tokenizer*"):
        shutil.copy(file, folder)
    return folder


@pytest.fixture
def make(folder: Path) -> Callable[..., SpeechLLM]:
    return lambda **changes: load_model(ModelOptions(base=str(folder), prompt=PROMPT, **changes))


def test_logits_equal_those_of_transformers(
    make: Callable[..., SpeechLLM], folder: Path, features: torch.Tensor
) -> None:
    model = make()
    encode = model.tokens.encode
    text = encode("one two")
    ids = [*encode("say "), *[AUDIO_TOKEN] * (POSITIONS // 4), *encode("now "), *text]
    whole = VoxtralForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        expected = whole(input_ids=torch.tensor([ids] * 5), input_features=features).logits[:, -(len(text) + 1) :]
        logits = model.logits(features, torch.tensor([text] * 5))
    assert float(expected.std()) > 0.1
    assert torch.allclose(logits, expected, atol=1e-5)


def test_components_are_those_of_the_published_system(make: Callable[..., SpeechLLM], folder: Path) -> None:
    model = make()
    assert model_shapes(ModelOptions(base=str(folder))) == model.layout
    rank = 8
    assert model.layout.components == {
        "encoder": 2 * 3 * rank * (16 + 16),
        "connector": 64 * 24 + 24 * 24,
        "decoder": 3 * rank * ((24 + 32) + (24 + 16)),
    }
    names = [slot.name for slot in model.layout.slots]
    assert names[0] == "encoder.layers.0.self_attn.k_proj.lora_A.weight"
    assert "connector.projection.linear_1.weight" in names
    assert names[-1] == "decoder.model.layers.2.self_attn.v_proj.lora_B.weight"


def test_the_projector_is_pretrained_and_may_stay_so(
    make: Callable[..., SpeechLLM], folder: Path, features: torch.Tensor, texts: list[str], train: Callable[..., None]
) -> None:
    whole = VoxtralForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    pretrained = whole.model.multi_modal_projector.linear_1.weight
    trained, frozen = make(), make(train_connector=False)
    assert torch.equal(trained.connector.projection.linear_1.weight, pretrained)
    for model in (trained, frozen):
        train(model, features, texts)
    assert not torch.allclose(trained.connector.projection.linear_1.weight, pretrained)
    assert torch.equal(frozen.connector.projection.linear_1.weight, pretrained)
    assert list(frozen.layout.components) == ["encoder", "decoder"]


def test_training_lowers_the_loss_and_the_model_reloads(
    make: Callable[..., SpeechLLM],
    features: torch.Tensor,
    texts: list[str],
    train: Callable[..., None],
    tmp_path: Path,
) -> None:
    model = make()
    before = float(model.loss(features, texts).detach())
    train(model, features, texts, steps=20)
    after = model.loss(features, texts)
    assert float(after.detach()) < 0.8 * before
    model.save(tmp_path)
    again = make()
    load_adapter(again, tmp_path)
    assert torch.equal(again.loss(features, texts), after)
    assert again.transcribe(features) == model.transcribe(features)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_peft_loads_the_adapters_onto_the_parts(
    make: Callable[..., SpeechLLM],
    folder: Path,
    features: torch.Tensor,
    texts: list[str],
    train: Callable[..., None],
    tmp_path: Path,
) -> None:
    model = make()
    train(model, features, texts)
    model.save(tmp_path)
    whole = VoxtralForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    encoder = PeftModel.from_pretrained(whole.model.audio_tower, tmp_path / "encoder").eval()
    assert torch.equal(encoder(features).last_hidden_state, model.encode(features))
    llama = LlamaForCausalLM(whole.config.text_config)
    llama.model, llama.lm_head = whole.model.language_model, whole.lm_head
    decoder = PeftModel.from_pretrained(llama, tmp_path / "decoder").eval()
    inputs = torch.ones(1, 3, 24)
    assert torch.equal(decoder(inputs_embeds=inputs).logits, model.decoder(inputs_embeds=inputs).logits)


@pytest.mark.parametrize("train_connector", [True, False])
def test_bfloat16_keeps_the_projector_in_float32(
    make: Callable[..., SpeechLLM],
    features: torch.Tensor,
    texts: list[str],
    train: Callable[..., None],
    train_connector: bool,
) -> None:
    model = make(dtype="bfloat16", train_connector=train_connector)
    assert model.connector.projection.linear_1.weight.dtype == torch.float32
    assert model.decoder.lm_head.weight.dtype == torch.bfloat16
    train(model, features, texts)
    assert len(model.transcribe(features)) == 5


def test_window_may_be_shorter(make: Callable[..., SpeechLLM]) -> None:
    model = make(window_s=0.16)
    assert (model.window_s, model.num_frames) == (0.16, 16)
    assert len(model.transcribe(torch.zeros(2, MELS, 16))) == 2
    with pytest.raises(ConfigError, match=r"a multiple of 0\.08 s"):
        make(window_s=0.18)


def test_what_is_no_ready_model_is_refused(folder: Path, whisper_folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.connector = .* brings its own"):
        ModelOptions(base=str(folder), connector=MLP())
    with pytest.raises(ConfigError, match="is a 'whisper' model; expected a ready speech-LLM"):
        load_model(ModelOptions(base=str(whisper_folder)))
