"""What client and server exchange in an experiment, of whatever kind: drawn once, sent once, fetched once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from sordino.experiments.split.serving import Served
from sordino.privacy import NoiseSource
from sordino.seeds import Seeds
from sordino.split.exchange import Exchange
from sordino.split.growing import LocalGrowth
from sordino.split.methods import SplitMethod
from sordino.split.sending import Sender
from sordino.split.sequences import Lengths
from sordino.split.tally import Sent

__all__ = ["PRIVATE", "Exchanged", "exchanged"]

PRIVATE: Final = ("train", "test")
"""The sets that noise protects; the others are public."""


@dataclass(frozen=True, kw_only=True)
class Exchanged:
    """Everything that is exchanged, by set; nothing is fetched before it is asked for.

    Attributes:
        noised: what the server gets of private sets, and of public ones as a client would noise them.
        clean: public sets as they are, from the server; private ones from the model in the client's own process.
        rows: clean embeddings of all tokens or frames.
        noised_rows: the same, noised.
    """

    noised: Mapping[str, Exchange]
    clean: Mapping[str, Exchange]
    rows: Mapping[str, torch.Tensor]
    noised_rows: Mapping[str, torch.Tensor]

    def shown(self, name: str, methods: Sequence[SplitMethod]) -> dict[str, Exchange]:
        """A set as each method shows it to the server, by the method's name."""
        return {method.name: (self.clean if method.sees == "clean" else self.noised)[name] for method in methods}

    @property
    def total(self) -> Sent:
        """Bytes of all that was asked for in the whole life of the run: each went once, whoever asked."""
        return sum((exchange.total for exchange in (*self.noised.values(), self.clean["public"])), Sent())


def exchanged(
    sequences: Mapping[str, Lengths],
    rows: Mapping[str, torch.Tensor],
    served: Served,
    *,
    sender: Sender,
    seeds: Seeds,
    folder: Path,
    known: Mapping[str, torch.Tensor] | None = None,
) -> Exchanged:
    """Draws the noise of all private sequences, once, and makes the exchanges.

    Args:
        sequences: ``train``, ``test`` and ``public``.
        rows: what is to be noised of them.
        served: the server.
        sender: pays.
        seeds: of the noise on public sets, which protects nobody.
        folder: states are kept here.
        known: what is public of each row, and added after the noise; nothing if not given.

    Shape:
        rows, known: float32 [all tokens, d]
    """
    stream = NoiseSource(seeds).stream("public")
    rehearsed = sender.noise.rehearse(rows["public"].numpy(), space=sender.space, stream=stream)
    noised = {**sender.once({name: rows[name] for name in PRIVATE}), "public": torch.from_numpy(rehearsed)}
    whole, sent = ({name: _sum(part[name], known, name) for name in sequences} for part in (rows, noised))
    return Exchanged(
        noised={
            name: Exchange(one, clean=whole[name], noised=sent[name], server=served.server, folder=_made(folder / name))
            for name, one in sequences.items()
        },
        clean={
            name: Exchange(
                one,
                clean=whole[name],
                noised=whole[name],
                server=served.server if name == "public" else _Local(served),
            )
            for name, one in sequences.items()
        },
        rows=rows,
        noised_rows=noised,
    )


def _sum(rows: torch.Tensor, known: Mapping[str, torch.Tensor] | None, name: str) -> torch.Tensor:
    return rows if known is None else rows + known[name]


class _Local:
    """The model in this process, loaded when it is first asked."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.describe = served.server.describe

    def states(
        self, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        """See `StateServer.states`."""
        return self._served.local.states(noised, mask, layers=layers, reduction=reduction)

    def open(self, *, layers: Sequence[int], reduction: int | None = None) -> LocalGrowth:
        """See `GrowingServer.open`."""
        return self._served.local.open(layers=layers, reduction=reduction)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
