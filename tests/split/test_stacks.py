"""A Whisper's layers after the client's, against the whole encoder; and what cannot be divided."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sordino.errors import ConfigError, DataError
from sordino.models.ctc.whisper import WhisperFront
from sordino.models.encoders import load_encoder
from sordino.split import LocalStates
from sordino.split.layer_filter import contributions
from sordino.split.stacks import speech_source

POCKET = speech_source("pocket")


@pytest.fixture(scope="module")
def whole() -> torch.nn.Module:
    return load_encoder(POCKET, window_s=None, stack=1, dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def log_mels() -> torch.Tensor:
    """A full window: the unsplit encoder takes nothing else."""
    return torch.randn(1, 80, 200, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("client_layers", [0, 1, 2])
def test_states_are_those_of_the_whole_encoder(
    whole: torch.nn.Module, log_mels: torch.Tensor, client_layers: int
) -> None:
    with torch.no_grad():
        wanted = whole(log_mels, output_hidden_states=True)
        sent = WhisperFront(whole, window_s=2.0)(log_mels[0])[None]
        for layer in list(whole.layers)[:client_layers]:  # type: ignore[arg-type, call-overload]
            sent = layer(sent, attention_mask=None)
        server = LocalStates.load("pocket", client_layers=client_layers)
        blocks = range(1, 4 - client_layers)
        found = server.states(sent, torch.ones(1, 100, dtype=torch.bool), layers=blocks)[0]
        for block, states in zip(blocks[:-1], found[:-1], strict=True):
            assert torch.equal(states, wanted.hidden_states[block + client_layers][0])
        assert torch.equal(whole.layer_norm(found[-1]), wanted.last_hidden_state[0])  # type: ignore[operator]


def test_padding_changes_nothing() -> None:
    server = LocalStates.load("pocket")
    noised, mask = torch.randn(3, 9, 128), torch.arange(9) < torch.tensor([9, 4, 1])[:, None]
    together = server.states(noised, mask, layers=[1, 3])
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        alone = server.states(noised[row : row + 1, :length], mask[row : row + 1, :length], layers=[1, 3])
        torch.testing.assert_close(together[row, :, :length], alone[0], atol=1e-5, rtol=1e-5)
        assert not together[row, :, length:].any()


def test_the_card_says_what_the_client_keeps() -> None:
    cards = [LocalStates.load("pocket", client_layers=kept).describe() for kept in (0, 2)]
    assert [(card.num_blocks, card.client_layers, card.vocabulary) for card in cards] == [(3, 0, 0), (1, 2, 0)]
    assert cards[0].model == "pocket"
    assert cards[0].family == "encoder"
    assert cards[0].fingerprint != cards[1].fingerprint


def test_the_layer_filter_takes_speech() -> None:
    figures = contributions(LocalStates.load("pocket"), torch.randn(1, 6, 128), torch.ones(1, 6, dtype=torch.bool))
    assert figures.shape == (3,)
    assert bool((figures > 0).all())


def test_divisions_that_cannot_be(tiny: Path) -> None:
    with pytest.raises(ConfigError, match="at least one for the server"):
        LocalStates.load("pocket", client_layers=3)
    with pytest.raises(ConfigError, match="client_layers = -1"):
        LocalStates.load("pocket", client_layers=-1)
    with pytest.raises(ConfigError, match="only a Whisper is divided"):
        LocalStates.load(str(tiny), client_layers=1)
    with pytest.raises(ConfigError, match="expected a decoder"):
        LocalStates.load("pocket").open(layers=[1])
    with pytest.raises(DataError, match="expected"):
        LocalStates.load("pocket").states(torch.zeros(1, 5, 64), torch.ones(1, 5, dtype=torch.bool), layers=[1])
