"""Tiny models of the real classes, and lets the tests of this folder import `served`."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def tiny_qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a Qwen2 with 28 blocks, random weights and width 64."""
    from transformers import Qwen2Config, Qwen2Model

    folder = tmp_path_factory.mktemp("models") / "tiny-qwen"
    config = Qwen2Config(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=28,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        Qwen2Model(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a T5 with 3 blocks, random weights and width 32."""
    from transformers import T5Config, T5EncoderModel

    folder = tmp_path_factory.mktemp("models") / "tiny-t5"
    config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=3, num_heads=4)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        T5EncoderModel(config).save_pretrained(folder)
    return folder
