"""A sequence that grows has the states of the whole one."""

from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig, LlamaModel, T5Config, T5EncoderModel

from sordino.errors import ConfigError, DataError
from sordino.split import ModelCard
from sordino.split.local_server import LocalStates


def card(family: str) -> ModelCard:
    return ModelCard(
        model="tiny",
        family=family,  # type: ignore[arg-type]
        width=32,
        num_blocks=3,
        dtype="float32",
        vocabulary=16,
        max_tokens=24,
        projection_seed=0,
        digest="",
    )


@pytest.fixture(scope="module")
def llama() -> LocalStates:
    config = LlamaConfig(
        vocab_size=16,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        stack = LlamaModel(config).eval()
    return LocalStates(stack, list(stack.layers), card=card("decoder"))


@pytest.mark.parametrize("reduction", [None, 4])
@pytest.mark.parametrize("steps", [(9,), (1,) * 9, (5, 1, 3)])
def test_states_are_those_of_the_whole_sequences(
    llama: LocalStates, steps: tuple[int, ...], reduction: int | None
) -> None:
    noised = torch.randn(2, 9, 32, generator=torch.Generator().manual_seed(0))
    whole = llama.states(noised, torch.ones(2, 9, dtype=torch.bool), layers=[3, 1], reduction=reduction)
    growth = llama.open(layers=[3, 1], reduction=reduction)
    grown = torch.cat([growth.extend(part) for part in noised.split(steps, dim=1)], dim=2)
    assert growth.tokens == 9
    torch.testing.assert_close(grown, whole)
    growth.close()


def test_what_cannot_follow_is_refused(llama: LocalStates) -> None:
    growth = llama.open(layers=[1])
    growth.extend(torch.zeros(2, 20, 32))
    for wrong in (
        torch.zeros(3, 1, 32),
        torch.zeros(2, 5, 32),
        torch.zeros(2, 0, 32),
        torch.zeros(2, 1, 31),
        torch.zeros(2, 32),
    ):
        with pytest.raises(DataError):
            growth.extend(wrong)
    with pytest.raises(DataError, match="not finite"):
        growth.extend(torch.full((2, 1, 32), float("nan")))
    assert growth.tokens == 20
    growth.extend(torch.zeros(2, 4, 32))


def test_what_the_model_does_not_have_is_refused(llama: LocalStates) -> None:
    with pytest.raises(ConfigError, match="layers"):
        llama.open(layers=[4])
    config = T5Config(vocab_size=16, d_model=32, d_kv=8, d_ff=48, num_layers=3, num_heads=4)
    stack = T5EncoderModel(config).eval()
    with pytest.raises(ConfigError, match="see those that come later"):
        LocalStates(stack, list(stack.encoder.block), card=card("encoder")).open(layers=[1])
