from __future__ import annotations

import pytest
import torch

from sordino.models import CONNECTORS
from sordino.models.frame_stack import FrameStack


def parameters(method: str, *, stack: int, frame_width: int, token_width: int) -> int:
    with torch.device("meta"):
        connector = FrameStack.new(
            CONNECTORS.get(method)(stack=stack), frame_width=frame_width, token_width=token_width
        )
    return sum(tensor.numel() for tensor in connector.parameters())


@pytest.mark.parametrize("method", CONNECTORS.names())
def test_contract(method: str) -> None:
    connector = FrameStack.new(CONNECTORS.get(method)(stack=3), frame_width=4, token_width=5)
    frames = torch.randn(2, 6, 4)
    tokens = connector(frames)
    assert tokens.shape == (2, 2, 5)
    changed = frames.clone()
    changed[0, 3:] += 1
    assert torch.equal(connector(changed)[0, 0], tokens[0, 0])
    assert not torch.equal(connector(changed)[0, 1], tokens[0, 1])


def test_neighbouring_frames_stand_side_by_side() -> None:
    connector = FrameStack.new(CONNECTORS.get("linear")(stack=2), frame_width=2, token_width=4)
    torch.nn.init.eye_(connector.projection.weight)
    torch.nn.init.zeros_(connector.projection.bias)
    assert connector(torch.tensor([[[1.0, 2], [3, 4]]])).tolist() == [[[1, 2, 3, 4]]]


def test_published_sizes() -> None:
    assert parameters("linear", stack=1, frame_width=1280, token_width=2048) == 2_623_488
    assert parameters("linear", stack=5, frame_width=1280, token_width=2048) == 13_109_248
    assert parameters("mlp", stack=4, frame_width=1280, token_width=3072) == 25_165_824
