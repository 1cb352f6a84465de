"""Two layers with a GELU between, the connector of Voxtral."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sordino.models.connectors import CONNECTORS, Connector

if TYPE_CHECKING:
    from torch import nn

__all__ = ["MLP"]


@CONNECTORS.register("mlp")
@dataclass(frozen=True, slots=True, kw_only=True)
class MLP(Connector):
    """``y = W_2 gelu(W_1 x)``, as wide inside as the decoder and without biases.

    Source: Voxtral (arXiv 2507.13264); at its sizes, 5120 to 3072, that is 25,165,824 parameters.
    """

    def projection(self, *, inputs: int, outputs: int) -> nn.Module:
        from torch import nn

        return nn.Sequential(nn.Linear(inputs, outputs, bias=False), nn.GELU(), nn.Linear(outputs, outputs, bias=False))
