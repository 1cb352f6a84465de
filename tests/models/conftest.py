"""Tiny random models in the layouts of real ones: a full Whisper checkpoint, and a Llama whose padding is its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Regex, Tokenizer
from tokenizers.decoders import Fuse
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, WhisperConfig, WhisperModel

from sordino.models import ModelOptions, SpeechLLM, load_model
from sordino.models.connectors.linear import Linear

MELS, POSITIONS, WIDTH, LAYERS = 8, 20, 16, 2
CHARACTERS = "abcdefghijklmnopqrstuvwxyz "


def whisper_config(**changes: Any) -> WhisperConfig:
    options: dict[str, Any] = {
        "num_mel_bins": MELS,
        "d_model": WIDTH,
        "encoder_layers": LAYERS,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": 24,
        "decoder_layers": LAYERS,
        "decoder_attention_heads": 2,
        "decoder_ffn_dim": 24,
        "max_source_positions": POSITIONS,
        "max_target_positions": 8,
        "vocab_size": 12,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 1,
    }
    return WhisperConfig(**(options | changes))


def llama_config(**changes: Any) -> LlamaConfig:
    options: dict[str, Any] = {
        "vocab_size": len(CHARACTERS) + 2,
        "hidden_size": 24,
        "intermediate_size": 32,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128,
        "bos_token_id": None,
        "eos_token_id": 1,
        "pad_token_id": 1,
    }
    return LlamaConfig(**(options | changes))


def tokenizer() -> PreTrainedTokenizerFast:
    characters = Tokenizer(WordLevel({t: i for i, t in enumerate(("<unk>", "</s>", *CHARACTERS))}, unk_token="<unk>"))
    characters.pre_tokenizer = Split(Regex("."), behavior="isolated")
    characters.decoder = Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=characters,
        unk_token="<unk>",
        eos_token="</s>",
        pad_token="</s>",
        clean_up_tokenization_spaces=False,
    )


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Models this small only lose by waiting for a second thread."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def make_whisper_config() -> Callable[..., WhisperConfig]:
    return whisper_config


@pytest.fixture(scope="session")
def make_llama_config() -> Callable[..., LlamaConfig]:
    return llama_config


@pytest.fixture(scope="session")
def whisper_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whisper")
    torch.manual_seed(1)
    WhisperModel(whisper_config(init_std=0.3)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    torch.manual_seed(2)
    LlamaForCausalLM(llama_config(initializer_range=0.3)).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def make_options(whisper_folder: Path, llama_folder: Path) -> Callable[..., ModelOptions]:
    """Options of the tiny model, with changes."""

    def make(**changes: Any) -> ModelOptions:
        options: dict[str, Any] = {
            "encoder": str(whisper_folder),
            "decoder": str(llama_folder),
            "connector": Linear(stack=2),
            "prompt": "say ",
        }
        return ModelOptions(**(options | changes))

    return make


@pytest.fixture
def make_model(make_options: Callable[..., ModelOptions]) -> Callable[..., SpeechLLM]:
    """The tiny model, with changed options."""
    return lambda **changes: load_model(make_options(**changes))


@pytest.fixture
def model(make_model: Callable[..., SpeechLLM]) -> SpeechLLM:
    return make_model()


@pytest.fixture
def features() -> torch.Tensor:
    """Five clips, float32 [5, mels, frames]."""
    return torch.randn(5, MELS, 2 * POSITIONS, generator=torch.Generator().manual_seed(3))


@pytest.fixture
def texts() -> list[str]:
    return ["one two three", "a", "", "sieben acht", "nine"]


@pytest.fixture
def train() -> Callable[..., None]:
    """A few steps that move every trainable tensor."""

    def train(model: SpeechLLM, features: torch.Tensor, texts: list[str], *, steps: int = 3) -> None:
        optimiser = torch.optim.AdamW(model.flat.parameters(), lr=0.02)
        for _ in range(steps):
            model.zero_grad()
            model.loss(features, texts).backward()
            optimiser.step()

    return train
