"""Whisper tiny.en and SmolLM2-135M-Instruct against plain transformers and peft, over the full 30 s window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, WhisperFeatureExtractor, WhisperModel

from sordino.data.audio import read_audio
from sordino.data.features import LogMel
from sordino.models import ModelOptions, SpeechLLM, load_model, load_trained
from sordino.models.connectors.linear import Linear
from sordino.models.decoders import IGNORED
from sordino.models.prompts import Prompt

BEFORE, AFTER = "<|im_start|>user\n", "\nTranscribe the speech to text.<|im_end|>\n<|im_start|>assistant\n"
CLIP, TEXT = "1688/1688-142285-0005.flac", "you who were always accusing people of being shoppy at helstone"
STACK = 5


@pytest.fixture(scope="module")
def options(weights_root: Path) -> ModelOptions:
    return ModelOptions(
        encoder=str(weights_root / "whisper-tiny.en"),
        decoder=str(weights_root / "smollm2-135m"),
        connector=Linear(stack=STACK),
        prompt=BEFORE + "{audio}" + AFTER,
    )


@pytest.fixture(scope="module")
def model(options: ModelOptions) -> SpeechLLM:
    return load_model(options)


@pytest.fixture(scope="module")
def features(data_root: Path, weights_root: Path) -> torch.Tensor:
    """The clip as transformers sees it: float32 [1, 80, 3000]."""
    extractor = WhisperFeatureExtractor.from_pretrained(weights_root / "whisper-tiny.en")
    audio = read_audio(data_root / "librispeech-10" / CLIP)
    return extractor(audio, sampling_rate=16_000, return_tensors="pt")["input_features"]


@torch.no_grad()
def plain_logits(
    encoder: torch.nn.Module, projection: torch.nn.Module, decoder: torch.nn.Module, tokenizer: object, f: torch.Tensor
) -> torch.Tensor:
    """The speech-LLM written out with the parts of transformers."""
    frames = encoder(f).last_hidden_state.reshape(1, 1500 // STACK, STACK * 384)
    embed = decoder.get_input_embeddings()
    before, after, text = (
        embed(torch.tensor([tokenizer(part, add_special_tokens=False).input_ids])) for part in (BEFORE, AFTER, TEXT)
    )
    logits = decoder(inputs_embeds=torch.cat([before, projection(frames), after, text], dim=1)).logits
    return logits[:, -(text.shape[1] + 1) :]


def our_logits(model: SpeechLLM, features: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model.logits(features, torch.tensor([model.tokens.encode(TEXT)]))


def plain_parts(weights_root: Path) -> tuple[torch.nn.Module, torch.nn.Module, object]:
    encoder = WhisperModel.from_pretrained(weights_root / "whisper-tiny.en", dtype=torch.float32).encoder.eval()
    decoder = AutoModelForCausalLM.from_pretrained(weights_root / "smollm2-135m", dtype=torch.float32).eval()
    return encoder, decoder, AutoTokenizer.from_pretrained(weights_root / "smollm2-135m")


def test_features_equal_those_of_transformers(data_root: Path, features: torch.Tensor) -> None:
    ours = LogMel(80, 30.0)(read_audio(data_root / "librispeech-10" / CLIP))
    np.testing.assert_allclose(ours, features[0].numpy(), atol=1e-4)


@pytest.mark.slow
def test_logits_equal_plain_transformers(model: SpeechLLM, features: torch.Tensor, weights_root: Path) -> None:
    encoder, decoder, tokenizer = plain_parts(weights_root)
    assert torch.allclose(model.encode(features), encoder(features).last_hidden_state, atol=1e-4)
    expected = plain_logits(encoder, model.connector.projection, decoder, tokenizer, features)
    assert float(expected.std()) > 1
    assert float((our_logits(model, features) - expected).abs().max()) < 1e-4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_a_saved_model_reloads_with_peft_alone_and_with_sordino(
    model: SpeechLLM, options: ModelOptions, features: torch.Tensor, weights_root: Path, tmp_path: Path
) -> None:
    start, untouched = model.flat.values.clone(), our_logits(model, features)
    moved = start + 0.02 * torch.randn(start.shape, generator=torch.Generator().manual_seed(4))
    model.flat.load(moved)
    model.save(tmp_path)
    expected = our_logits(model, features)
    model.flat.load(start)
    assert float((expected - untouched).abs().max()) > 0.1

    encoder, decoder, tokenizer = plain_parts(weights_root)
    encoder = PeftModel.from_pretrained(encoder, tmp_path / "encoder").eval()
    decoder = PeftModel.from_pretrained(decoder, tmp_path / "decoder").eval()
    connector = torch.nn.Linear(STACK * 384, 576)
    weights = load_file(tmp_path / "connector.safetensors")
    connector.load_state_dict({name.removeprefix("projection."): tensor for name, tensor in weights.items()})
    assert float((plain_logits(encoder, connector, decoder, tokenizer, features) - expected).abs().max()) < 1e-4

    assert torch.equal(our_logits(load_trained(options, tmp_path), features), expected)


def test_the_decoders_own_turn_end_ends_a_transcript_once(model: SpeechLLM) -> None:
    tokens = model.tokens
    assert tokens.tokenizer.convert_ids_to_tokens(tokens.end) == "<|im_end|>"
    assert tokens.end == model.decoder.config.eos_token_id
    inputs, labels = tokens.batch([TEXT, "no"])
    assert (labels == tokens.end).sum(dim=1).tolist() == [1, 1]
    assert labels[1].tolist() == [*tokens.encode("no"), tokens.end, *[IGNORED] * (labels.shape[1] - 2)]
    assert tokens.decode(inputs[0].tolist()) == TEXT


def test_the_prompt_is_smollms_chat_and_no_beginning_is_made_up(model: SpeechLLM) -> None:
    prompt, read = Prompt.of(model.prompt, model.tokens.tokenizer), model.tokens.tokenizer.convert_ids_to_tokens
    assert read(list(prompt.before)) == ["<|im_start|>", "user", "Ċ"]
    assert read(list(prompt.after))[-6:] == ["<|im_end|>", "Ċ", "<|im_start|>", "ass", "istant", "Ċ"]
