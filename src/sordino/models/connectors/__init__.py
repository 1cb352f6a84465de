"""Connectors: what turns the encoder's frames into vectors that the decoder reads like words.

Each joins `stack` neighbouring frames into one long vector and projects that to the decoder's width. A new connector is
one class in one file here that says what the projection is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sordino._check import at_least
from sordino._registry import Registry
from sordino.config import option

if TYPE_CHECKING:
    from torch import nn

__all__ = ["CONNECTORS", "Connector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector(ABC):
    """Options of a connector. Holds no weights: `projection` makes the layer that does.

    Raises:
        ConfigError: ``stack`` below 1.
    """

    name: ClassVar[str]

    stack: int = option("how many neighbouring encoder frames (20 ms each) become one decoder position", 4)

    def __post_init__(self) -> None:
        at_least("model.connector.stack", self.stack, 1)

    @abstractmethod
    def projection(self, *, inputs: int, outputs: int) -> nn.Module:
        """The trainable layer: float32 [..., inputs] to float32 [..., outputs].

        Args:
            inputs: width of the stacked frames, ``stack`` times the encoder's width.
            outputs: width of the decoder's embeddings.
        """


CONNECTORS: Registry[Connector] = Registry("connector", package="sordino.models.connectors")
"""All connectors by name, the values of ``model.connector.method``."""
