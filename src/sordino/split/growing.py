"""Sequences that grow by a few tokens at a time, as when text is generated: the server keeps keys and values of the rest.

Sequences that grow together have one length, so none is padded; open one growth for each length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch

from sordino.errors import ConfigError, DataError
from sordino.split.hidden_states import ModelCard, StateServer, require_batch

if TYPE_CHECKING:
    from sordino.split.local_server import LocalStates

__all__ = ["GrowingServer", "Growth", "LocalGrowth", "require_growing", "require_growth"]


class Growth(Protocol):
    """Some sequences of one length. Not for several threads at once."""

    @property
    def tokens(self) -> int:
        """How long they are."""
        ...

    def extend(self, noised: torch.Tensor) -> torch.Tensor:
        """States of tokens that follow those before; the same as those of the whole sequences, up to rounding.

        Shape:
            noised: float32 [batch, new tokens, d]
            result: float32 [batch, len(layers), new tokens, d or d/r]

        Raises:
            DataError: another batch than before, embeddings that the model cannot take, or too many of them.
        """
        ...

    def close(self) -> None:
        """Frees what the server keeps; nothing can follow."""
        ...


class GrowingServer(StateServer, Protocol):
    """A `StateServer` that sequences can grow at."""

    def open(self, *, layers: Sequence[int], reduction: int | None = None) -> Growth:
        """An empty batch of sequences, of which the states of these blocks will be wanted.

        Raises:
            ConfigError: a block or reduction that the model does not have, or a model whose tokens see later ones.
        """
        ...


class LocalGrowth:
    """A `Growth` at a model in this process."""

    def __init__(self, model: LocalStates, *, layers: Sequence[int], reduction: int | None) -> None:
        from transformers import DynamicCache

        require_growing(model.describe(), layers, reduction=reduction)
        self._model, self._layers, self._reduction = model, tuple(layers), reduction
        config: Any = model.stack.config
        self._cache = DynamicCache(config=config)
        self._batch: int | None = None
        self.tokens = 0

    def extend(self, noised: torch.Tensor) -> torch.Tensor:
        """See `Growth.extend`."""
        require_growth(self._model.describe(), noised, batch=self._batch, before=self.tokens)
        states = self._model.next_states(noised, self._cache, layers=self._layers, reduction=self._reduction)
        self._batch, self.tokens = len(noised), self.tokens + noised.shape[1]
        return states

    def close(self) -> None:
        """See `Growth.close`."""
        self._cache.layers.clear()


def require_growing(card: ModelCard, layers: Sequence[int], *, reduction: int | None) -> None:
    """Raises ConfigError unless sequences can grow at the model, and it has these blocks and can reduce its width so."""
    card.require_layers(layers, reduction=reduction)
    if card.family != "decoder":
        raise ConfigError(
            f"{card.model} is an {card.family}, whose tokens see those that come later: expected a decoder; ask for the "
            "states of the whole sequences."
        )


def require_growth(card: ModelCard, noised: torch.Tensor, *, batch: int | None, before: int) -> None:
    """Raises DataError unless ``noised`` can follow ``before`` tokens of ``batch`` sequences, None for a first time."""
    require_batch(card, noised, torch.ones(noised.shape[:2], dtype=torch.bool))
    if batch not in (None, len(noised)):
        raise DataError(
            f"{len(noised)} sequences: expected the {batch} that grow here; open another growth for others."
        )
    if before + noised.shape[1] > card.max_tokens:
        raise DataError(
            f"{before} tokens and {noised.shape[1]} more: expected at most the {card.max_tokens} of {card.model}; stop "
            "earlier."
        )
