"""What client and server have exchanged about one set of sequences: sent once, fetched once, counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

import torch

from sordino.records import replace_file
from sordino.split.hidden_states import StateServer
from sordino.split.sequences import Lengths, padded
from sordino.split.tally import Sent, Tally

__all__ = ["Exchange"]

_BATCH: Final = 32
_NUMBER: Final = 4
"""Bytes of a float32, and of an int32: embeddings, states, lengths."""
_Key: TypeAlias = tuple[tuple[int, ...], int | None]


class Exchange:
    """A set of sequences from the client's side.

    Args:
        sequences: lengths and labels, and what else is known of them; they stay here.
        clean: embeddings of all tokens; they stay here.
        noised: what the server gets of them.
        server: gives states; None where there is nothing to ask.
        folder: states are kept here, so that a run that goes on need not ask again; None keeps them in memory alone.
        tally: counts what is asked for, where nothing is kept on disk that would tell.

    Shape:
        clean, noised: float32 [all tokens, d]
    """

    def __init__(
        self,
        sequences: Lengths,
        *,
        clean: torch.Tensor,
        noised: torch.Tensor,
        server: StateServer,
        folder: Path | None = None,
        tally: Tally | None = None,
    ) -> None:
        self.sequences, self.server, self._folder, self._tally = sequences, server, folder, tally
        self.clean, self.noised = padded(clean, sequences.mask), padded(noised, sequences.mask)
        self._states: dict[_Key, torch.Tensor] = {}
        self._sent: dict[_Key, Sent] = {}

    def with_server(self, server: StateServer, *, tally: Tally | None = None) -> Exchange:
        """The same sequences, sent as they were to another server; nothing is kept on disk of it."""
        clean, noised = (one[self.mask] for one in (self.clean, self.noised))
        return Exchange(self.sequences, clean=clean, noised=noised, server=server, tally=tally)

    def showing(self, noised: torch.Tensor, *, tally: Tally) -> Exchange:
        """The same sequences, of which the server gets other rows [all tokens, d]; they must be made of those it may see."""
        clean = self.clean[self.mask]
        return Exchange(self.sequences, clean=clean, noised=noised, server=self.server, tally=tally)

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
            self._sent[key] = self._bytes(key)
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

    def _bytes(self, key: _Key) -> Sent:
        layers, reduction = key
        tokens, width = int(self.mask.sum()), self.noised.shape[2]
        down = tokens * len(layers) * (width // (reduction or 1))
        return Sent(_NUMBER * (tokens * width + len(self)), _NUMBER * down)

    def _fetch(self, key: _Key, path: Path | None) -> torch.Tensor:
        """Rows [all tokens, layers, width], from batches of sequences of about one length."""
        from safetensors.torch import save

        layers, reduction = key
        if self._tally is not None:
            self._tally.add(self._bytes(key))
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
