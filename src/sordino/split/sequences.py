"""Sequences of any length, held without padding and padded when they are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import torch

__all__ = ["Lengths", "Sequences", "padded"]


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Some sequences, of whatever they are: how long they are, and their labels.

    Attributes:
        lengths: tokens, or frames, of each sequence.
        labels: number of each sequence's label.

    Shape:
        lengths, labels: int64 [sequences]
    """

    lengths: torch.Tensor
    labels: torch.Tensor

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def mask(self) -> torch.Tensor:
        """Which places of the padded batch hold a token: bool [sequences, longest]."""
        return torch.arange(int(self.lengths.max())) < self.lengths[:, None]


@dataclass(frozen=True, kw_only=True)
class Sequences(Lengths):
    """Some token sequences and their labels.

    Attributes:
        ids: of all tokens, one sequence after the other.
        given: how many tokens of each come before those that are to be written; all of them where nothing is.

    Shape:
        ids: int64 [all tokens]
        given: int64 [sequences]
    """

    ids: torch.Tensor
    given: torch.Tensor

    @classmethod
    def of(
        cls, ids: Sequence[Sequence[int]], *, labels: Sequence[int] = (), given: Sequence[int] | None = None
    ) -> Self:
        """From a list a sequence; labels are 0 where there are none."""
        flat = [token for one in ids for token in one]
        lengths = [len(one) for one in ids]
        return cls(
            ids=torch.tensor(flat),
            lengths=torch.tensor(lengths),
            labels=torch.tensor(labels or [0] * len(ids)),
            given=torch.tensor(given if given is not None else lengths),
        )

    @property
    def prompts(self) -> Sequences:
        """The sequences up to what is to be written."""
        rows = self.ids.split(self.lengths.tolist())
        return Sequences.of([row[:given].tolist() for row, given in zip(rows, self.given.tolist(), strict=True)])

    @cached_property
    def padded_ids(self) -> torch.Tensor:
        """int64 [sequences, longest], zero where there is no token."""
        return padded(self.ids, self.mask)


def padded(rows: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Rows of all tokens as a padded batch, zero where ``mask`` is false.

    Shape:
        rows: [all tokens, ...]
        mask: bool [sequences, longest]
        result: [sequences, longest, ...]
    """
    result = rows.new_zeros(*mask.shape, *rows.shape[1:])
    result[mask] = rows
    return result
