"""What client and server have exchanged about one set of sequences: sent once, fetched once, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import torch

from sordino.records import replace_file
from sordino.split.hidden_states import StateServer
from sordino.split.sequences import Sequences, padded

__all__ = ["Exchange", "Sent"]

_BATCH: Final = 32
_FLOAT: Final = 4
_Key: TypeAlias = tuple[tuple[int, ...], int | None]


@dataclass(frozen=True, slots=True)
class Sent:
    """Bytes of tensors, counted from those that were handed over.

    Attributes:
        up: of embeddings and lengths.
        down: of states.
    """

    up: int = 0
    down: int = 0

    def __add__(self, other: Sent) -> Sent:
        return Sent(self.up + other.up, self.down + other.down)


class Exchange:
    """A set of sequences from the client's side.

    Args:
        sequences: tokens, lengths and labels; they stay here.
        clean: embeddings of all tokens; they stay here.
        noised: what the server gets of them.
        server: gives states; None where there is nothing to ask.
        folder: states are kept here, so that a run that goes on need not ask again; None keeps them in memory alone.

    Shape:
        clean, noised: float32 [all tokens, d]
    """

    def __init__(
        self,
        sequences: Sequences,
        *,
        clean: torch.Tensor,
        noised: torch.Tensor,
        server: StateServer,
        folder: Path | None = None,
    ) -> None:
        self.sequences, self.server, self._folder = sequences, server, folder
        self.clean, self.noised = padded(clean, sequences.mask), padded(noised, sequences.mask)
        self._states: dict[_Key, torch.Tensor] = {}
        self._sent: dict[_Key, Sent] = {}

    def with_server(self, server: StateServer) -> Exchange:
        """The same sequences, sent as they were to another server; nothing is kept on disk of it."""
        rows = (one[self.mask] for one in (self.clean, self.noised))
        return Exchange(self.sequences, clean=next(rows), noised=next(rows), server=server)

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def mask(self) -> torch.Tensor:
        """Which places hold a token: bool [sequences, longest]."""
        return self.sequences.mask

    @property
    def labels(self) -> torch.Tensor:
        """Number of each sequence's label: int64 [sequences]."""
        return self.sequences.labels

    def states(self, layers: Sequence[int], *, reduction: int | None = None) -> torch.Tensor:
        """Outputs of some blocks on the noised embeddings; asked for once, whoever wants them.

        Shape:
            result: float32 [sequences, len(layers), longest, d or d/r]
        """
        key = (tuple(layers), reduction)
        if key not in self._states:
            path = self._path(key)
            rows = _read(path) if path is not None and path.exists() else self._fetch(key, path)
            self._states[key] = padded(rows, self.mask).transpose(1, 2)
            up = _FLOAT * (len(rows) * self.noised.shape[2] + len(self))
            self._sent[key] = Sent(up, _FLOAT * rows.numel())
        return self._states[key]

    def sent(self, layers: Sequence[int], *, reduction: int | None = None) -> Sent:
        """Bytes that `states` of these took."""
        self.states(layers, reduction=reduction)
        return self._sent[tuple(layers), reduction]

    @property
    def total(self) -> Sent:
        """Bytes of everything that was asked for so far."""
        return sum(self._sent.values(), Sent())

    def _path(self, key: _Key) -> Path | None:
        layers, reduction = key
        name = f"states-{'-'.join(map(str, layers))}-r{reduction or 1}-{self.server.describe().fingerprint}.safetensors"
        return None if self._folder is None else self._folder / name

    def _fetch(self, key: _Key, path: Path | None) -> torch.Tensor:
        """Rows [all tokens, layers, width], from batches of sequences of about one length."""
        from safetensors.torch import save

        layers, reduction = key
        width = self.noised.shape[2] // (reduction or 1)
        result = torch.zeros(*self.mask.shape, len(layers), width)
        order = torch.argsort(self.sequences.lengths, stable=True)
        for batch in order.split(_BATCH):
            longest = int(self.sequences.lengths[batch].max())
            states = self.server.states(
                self.noised[batch, :longest], self.mask[batch, :longest], layers=layers, reduction=reduction
            )
            result[batch, :longest] = states.transpose(1, 2)
        rows = result[self.mask]
        if path is not None:
            replace_file(path, save({"states": rows.contiguous()}))
        return rows


def _read(path: Path) -> torch.Tensor:
    from safetensors.torch import load_file

    return load_file(path)["states"]
