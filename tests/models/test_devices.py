from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from sordino import ConfigError
from sordino.models import SpeechLLM
from sordino.models.devices import available_device, seed_device


def test_auto_is_a_gpu_if_there_is_one() -> None:
    assert available_device("cpu") == torch.device("cpu")
    assert available_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_a_gpu_that_is_not_there_is_refused_with_the_remedy(make_model: Callable[..., SpeechLLM]) -> None:
    with pytest.raises(ConfigError, match=r"model\.device = 'cuda' cannot be used here .*set it to cpu, or to auto"):
        make_model(device="cuda")


@pytest.mark.parametrize("name", ["cdua", "", "meta", "cuda:x"])
def test_what_is_no_device_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"model\.device"):
        available_device(name)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_model_on_a_gpu_computes_the_same(
    make_model: Callable[..., SpeechLLM], features: torch.Tensor, texts: list[str]
) -> None:
    losses = [float(make_model(device=name).loss(features, texts).detach()) for name in ("cpu", "cuda")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_dropout_is_seeded_anew() -> None:
    draws = []
    for _ in range(2):
        seed_device(torch.device("cpu"), 5)
        draws.append(torch.nn.functional.dropout(torch.ones(64)))
    assert torch.equal(*draws)
    assert not torch.equal(draws[0], torch.nn.functional.dropout(torch.ones(64)))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_seeding_one_gpu_leaves_the_stream_of_another() -> None:
    before = torch.cuda.get_rng_state(1)
    seed_device(torch.device("cuda:0"), 5)
    assert torch.equal(torch.cuda.get_rng_state(1), before)
    assert torch.cuda.initial_seed() == 5
