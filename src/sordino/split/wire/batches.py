"""A batch of sequences on its way, without its padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch

from sordino.errors import DataError
from sordino.split.hidden_states import ModelCard, require_batch
from sordino.split.wire.messages import Message

__all__ = ["Batch", "pack", "states_of", "unpack"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What is asked of a model.

    Attributes:
        card: fingerprint of the model's card that the client knows.
        rows: embeddings, one sequence after the other.
        lengths: tokens of each sequence.
        layers: blocks, counted from 1.
        reduction: r, or None for states of full width.

    Shape:
        rows: float32 [sum of lengths, d]
    """

    card: str
    rows: torch.Tensor
    lengths: tuple[int, ...]
    layers: tuple[int, ...]
    reduction: int | None

    @classmethod
    def of(
        cls, card: ModelCard, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None
    ) -> Self:
        """From padded embeddings, as `StateServer.states` takes them.

        Raises:
            ConfigError: blocks or a reduction that the model does not have.
            DataError: embeddings and a mask that the model cannot take, or padding that is not on the right.
        """
        card.require_layers(layers, reduction=reduction)
        require_batch(card, noised, mask)
        lengths = mask.sum(dim=1)
        if not torch.equal(mask, _mask(lengths, mask.shape[1])):
            raise DataError("the mask must be true for all of a sequence's tokens, and then false; pad on the right.")
        return cls(
            card=card.fingerprint,
            rows=pack(noised, mask).float(),
            lengths=tuple(lengths.tolist()),
            layers=tuple(layers),
            reduction=reduction,
        )

    @classmethod
    def from_message(cls, message: Message, *, width: int) -> Self:
        """What `to_message` made.

        Raises:
            DataError: rows, lengths and layers that do not go together.
        """
        rows, lengths, layers = message.tensors["noised"], message.tensors["lengths"].tolist(), message.said["layers"]
        if rows.shape[1] != width:
            raise DataError(
                f"embeddings of width {rows.shape[1]}: expected {width}; send embeddings of the server's model."
            )
        if not lengths or min(lengths) < 1 or sum(lengths) != len(rows):
            raise DataError(
                f"{len(rows)} embeddings for lengths that add up to {sum(lengths)}; correct what sends them."
            )
        if any(type(layer) is not int for layer in layers):
            raise DataError("layers that are not whole numbers; correct what sends them.")
        return cls(
            card=message.said["card"],
            rows=rows,
            lengths=tuple(lengths),
            layers=tuple(layers),
            reduction=message.said["reduction"],
        )

    def to_message(self) -> Message:
        """As it travels."""
        return Message(
            {"card": self.card, "layers": list(self.layers), "reduction": self.reduction},
            {"noised": self.rows, "lengths": torch.tensor(self.lengths, dtype=torch.int32)},
        )

    @property
    def mask(self) -> torch.Tensor:
        """Which places hold a token: bool [batch, longest]."""
        return _mask(torch.tensor(self.lengths), max(self.lengths))

    @property
    def places(self) -> int:
        """Places of the padded batch."""
        return len(self.lengths) * max(self.lengths)

    @property
    def shape_down(self) -> tuple[int, int, int]:
        """Of what comes back: [tokens, layers, d or d/r]."""
        return len(self.rows), len(self.layers), self.rows.shape[1] // (self.reduction or 1)

    @property
    def bytes(self) -> tuple[int, int]:
        """Payloads up and down: float32 rows, int32 lengths."""
        tokens, layers, width = self.shape_down
        return 4 * (self.rows.numel() + len(self.lengths)), 4 * tokens * layers * width

    def part(self, first: int, last: int) -> Self:
        """The sequences from ``first`` to before ``last``."""
        start, stop = sum(self.lengths[:first]), sum(self.lengths[:last])
        return replace(self, rows=self.rows[start:stop], lengths=self.lengths[first:last])


def pack(padded: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The rows that are no padding, one sequence after the other.

    Shape:
        padded: [batch, tokens, ...]
        mask: bool [batch, tokens]
        result: [all tokens, ...]
    """
    return padded[mask]


def unpack(rows: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The inverse of `pack`, with zeros where ``mask`` is false."""
    padded = rows.new_zeros(*mask.shape, *rows.shape[1:])
    padded[mask] = rows
    return padded


def states_of(answer: Message, *, card: str, shape: tuple[int, int, int]) -> torch.Tensor:
    """The states [tokens, layers, d or d/r] of an answer; raises DataError if they are not those that were asked for."""
    states = answer.tensors["states"]
    if answer.said["card"] != card or tuple(states.shape) != shape:
        raise DataError(
            f"states of shape {tuple(states.shape)} came from the model with card {answer.said['card']!r:.20}: expected "
            f"{shape} from {card}; let both sides run the same version of sordino."
        )
    return states


def _mask(lengths: torch.Tensor, longest: int) -> torch.Tensor:
    return torch.arange(longest, device=lengths.device) < lengths[:, None]
