"""One affine layer, the connector of the published Whisper systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sordino.models.connectors import CONNECTORS, Connector

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Linear"]


@CONNECTORS.register("linear")
@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(Connector):
    """``y = W x + b``; with Whisper-turbo, TinyLlama and ``stack = 5`` that is 13,109,248 parameters."""

    def projection(self, *, inputs: int, outputs: int) -> nn.Module:
        from torch import nn

        return nn.Linear(inputs, outputs)
