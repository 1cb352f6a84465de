"""A speaker's own small layers inside a recogniser, after the feed-forward of each of its layers."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional as F

from sordino.models.ctc.recogniser import Recogniser
from sordino.models.flat import FlatParameters, trainable

__all__ = ["ADAPTERS", "Adapter", "with_adapters"]

ADAPTERS: Final = "adapters"
"""Component of what is added; its tensors stand behind all others in the flat vector."""


class Adapter(nn.Module):
    """``x + U relu(D norm(x))``. U starts at zero, so that a new one changes nothing.

    Shape:
        x, returns: float32 [batch, frames, size]

    Source: Houlsby et al., Parameter-Efficient Transfer Learning for NLP, 2019.
    """

    def __init__(self, size: int, *, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.down = nn.Linear(size, width)
        self.up = nn.Linear(width, size)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The adapted states."""
        change: torch.Tensor = self.up(F.relu(self.down(self.norm(x))))
        return x + change


def with_adapters(recogniser: Recogniser, *, width: int, seed: int) -> Recogniser:
    """The recogniser itself, now with an adapter after the feed-forward of every layer, before its residual is added.

    Args:
        recogniser: changed in place; its flat vector grows by the component `ADAPTERS`.
        width: of the adapters' inside.
        seed: of their first weights.
    """
    layers = {**recogniser.si.layers, **recogniser.sd.layers}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        adapters = {number: Adapter(recogniser.front.width, width=width) for number in layers}
    recogniser.add_module(ADAPTERS, nn.ModuleDict(adapters).to(recogniser.flat.values.device))
    for number, layer in layers.items():
        _last_of_feed_forward(layer).register_forward_hook(_through(adapters[number]))
    recogniser.flat = FlatParameters(trainable(recogniser))
    return recogniser


def _last_of_feed_forward(layer: nn.Module) -> nn.Module:
    """HuBERT's and wav2vec 2.0's layers have it as a module, Whisper's as two matrices, of which this is the second."""
    found = layer.feed_forward if hasattr(layer, "feed_forward") else layer.fc2
    assert isinstance(found, nn.Module)  # noqa: S101 - `load_recogniser` takes these kinds of layer only
    return found


def _through(adapter: nn.Module) -> Any:
    def hook(module: nn.Module, args: Any, output: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
        adapted: torch.Tensor = adapter(output)
        return adapted

    return hook
