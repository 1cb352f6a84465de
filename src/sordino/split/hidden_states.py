"""What the owner of a large model offers: the hidden states of chosen blocks on embeddings that somebody else made.

A client keeps the embedding table (or the speech front end) and the task's head, sends noised embeddings, and corrects what
comes back. Everything behind `StateServer` can be in this process (`sordino.split.local_server`) or behind a wire
(`sordino.split.wire`): the client's code is the same.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import torch

from sordino._check import at_least
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds

__all__ = ["ModelCard", "StateServer", "public_projection", "require_batch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """What a server says about its model. A client that finds another card than last time must not mix the states.

    Attributes:
        model: name of the model; the server's folder is not told, only its last part.
        family: ``decoder`` (Llama's type: a token sees those before it) or ``encoder`` (T5's and Whisper's: it sees all).
        width: d, the width of embeddings and states.
        num_blocks: L, those that the server has; blocks are counted 1..L, and H_i is the *output* of block i.
        dtype: number format that the server computes in; embeddings and states are float32 on either side.
        vocabulary: number of rows of the embedding table; 0 of a speech encoder, whose tokens are frames of 20 ms.
        max_tokens: the longest sequence.
        client_layers: layers of a speech encoder before block 1, which the client has besides the convolutions.
        projection_seed: public; decides the projections of ``reduction``.
        digest: SHA-256 of the config and all weights.
    """

    model: str
    family: Literal["decoder", "encoder"]
    width: int
    num_blocks: int
    dtype: str
    vocabulary: int
    max_tokens: int
    client_layers: int = 0
    projection_seed: int
    digest: str

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that stand for the whole card."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """The card as a table."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(table: Mapping[str, Any]) -> ModelCard:
        """The card that `to_json` wrote.

        Raises:
            DataError: fields are missing, unknown or of another type.
        """
        fields = {field.name: field.type for field in dataclasses.fields(ModelCard)}
        if table.keys() != fields.keys() or any(
            not isinstance(table[name], int if kind == "int" else str) for name, kind in fields.items()
        ):
            raise DataError(
                f"model card {dict(table)!r} is not understood: expected {', '.join(fields)}; let both sides run the same "
                "version of sordino."
            )
        return ModelCard(**table)

    def require_layers(self, layers: Sequence[int], *, reduction: int | None) -> None:
        """Raises ConfigError unless the server has these blocks and can reduce its width so."""
        if not layers or len(set(layers)) != len(layers) or not all(1 <= layer <= self.num_blocks for layer in layers):
            raise ConfigError(
                f"layers = {list(layers)!r}: expected different blocks between 1 and {self.num_blocks} of {self.model}; "
                "name some of those."
            )
        if reduction is not None:
            at_least("reduction", reduction, 1)
            if self.width % reduction:
                raise ConfigError(
                    f"reduction = {reduction}: expected a divisor of the width {self.width} of {self.model}; choose one."
                )


class StateServer(Protocol):
    """Gives the hidden states of a frozen model. Safe to call from several threads."""

    def describe(self) -> ModelCard:
        """The model behind it."""
        ...

    def states(
        self, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        """Outputs of some blocks on embeddings that the caller made.

        Args:
            noised: embeddings E', padded on the right; padding may hold anything finite.
            mask: which places hold a token.
            layers: the blocks, counted from 1, in the order wanted.
            reduction: r; the states are then `public_projection` of the outputs, d/r numbers a token.

        Shape:
            noised: float32 [batch, tokens, d]
            mask: bool [batch, tokens]
            result: float32 [batch, len(layers), tokens, d or d/r]; zero where ``mask`` is false.

        Raises:
            ConfigError: a block or reduction that the model does not have.
            DataError: shapes that do not fit, an empty or too long sequence, or embeddings that are not finite.
        """
        ...


def public_projection(card: ModelCard, layer: int, *, reduction: int) -> torch.Tensor:
    """The fixed random projection W_i that shortens the states of block i on their way back.

    Entries are independent normals of variance ``r / d``, so that lengths are kept in expectation. Anybody with the card
    can make it: it saves downlink and hides nothing.

    Shape:
        result: float32 [d / reduction, d]
    """
    card.require_layers([layer], reduction=reduction)
    rows = card.width // reduction
    random = Seeds(card.projection_seed).at("split", "projection", layer, reduction).generator()
    entries = random.standard_normal((rows, card.width)) / np.sqrt(rows)
    return torch.from_numpy(entries.astype(np.float32))


def require_batch(card: ModelCard, noised: torch.Tensor, mask: torch.Tensor) -> None:
    """Raises DataError unless these are embeddings and a mask that a model of this card can take."""
    if noised.ndim != 3 or noised.shape[2] != card.width or mask.shape != noised.shape[:2] or not noised.numel():
        raise DataError(
            f"embeddings of shape {tuple(noised.shape)} with a mask of shape {tuple(mask.shape)}: expected "
            f"[batch, tokens, {card.width}] and [batch, tokens]; send embeddings of {card.model}."
        )
    if mask.dtype != torch.bool or not bool(mask[:, 0].all()):
        raise DataError("the mask must be boolean and true at every sequence's first token; pad on the right.")
    if noised.shape[1] > card.max_tokens:
        raise DataError(
            f"{noised.shape[1]} tokens: expected at most the {card.max_tokens} of {card.model}; cut the sequence."
        )
    if not bool(torch.isfinite(noised).all()):
        raise DataError("embeddings that are not finite; lower the noise, or look for a fault in the client.")
