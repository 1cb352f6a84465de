"""What clients keep for themselves between rounds, a personal head or a personal model. It never leaves them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from sordino.errors import ConfigError
from sordino.records import replace_file

__all__ = ["ClientMemory", "InMemory", "Kept", "Memory", "Moment", "OnDisk"]

Kept: TypeAlias = Mapping[str, torch.Tensor]
"""Named tensors."""

Moment: TypeAlias = tuple[int, int]
"""A round's number and which of its phases, from 0."""


class Memory(ABC):
    """What the clients of one process keep, each for itself, by the moment at which it was kept.

    A round that is done again after a crash has to find what its clients knew before it, so what is kept in a round does
    not replace what was there before: that goes when the client keeps something in a later round.

    | recalled at | gives |
    |---|---|
    | a client's first time | nothing |
    | any moment | the newest that was kept before it, in this round's earlier phases or in earlier rounds |
    | a round before the one that is next to the last | `ConfigError`: that is forgotten |
    """

    def of(self, client: str, moment: Moment) -> ClientMemory:
        """One client's own memory at a moment."""
        return ClientMemory(self, client, moment)

    def recall(self, client: str, moment: Moment) -> Kept:
        """What the client kept last before this moment; empty if it never did.

        Raises:
            ConfigError: it is forgotten, or damaged.
        """
        moments = self._moments(client)
        before = [known for known in moments if known < moment]
        if before:
            return self._read(client, before[-1])[0]
        if moments and not self._read(client, moments[0])[1]:
            raise ConfigError(
                f"what client {client!r} kept before round {moment[0]} is forgotten: expected to resume where the run "
                f"stopped, at round {moments[0][0]} or later; restore the whole run folder from one copy, or start anew."
            )
        return {}

    def keep(self, client: str, kept: Kept, moment: Moment) -> None:
        """Keeps this from now on, in place of everything that was kept at this moment or later by an interrupted run."""
        moments = self._moments(client)
        for later in (known for known in moments if known >= moment):
            self._forget(client, later)
        earlier = [known for known in moments if known < moment]
        self._write(client, moment, kept, first=not earlier)
        last_round = [known for known in earlier if known[0] < moment[0]]
        for old in last_round[:-1]:
            self._forget(client, old)

    @abstractmethod
    def _moments(self, client: str) -> Sequence[Moment]:
        """When the client kept what it still has, ascending."""

    @abstractmethod
    def _read(self, client: str, moment: Moment) -> tuple[Kept, bool]:
        """What was kept then, and whether it was the first."""

    @abstractmethod
    def _write(self, client: str, moment: Moment, kept: Kept, *, first: bool) -> None: ...

    @abstractmethod
    def _forget(self, client: str, moment: Moment) -> None: ...


@dataclass(frozen=True, slots=True)
class ClientMemory:
    """What one client can recall and keep; it has no way to another's."""

    _memory: Memory
    _client: str
    _moment: Moment

    def recall(self, name: str, default: torch.Tensor) -> torch.Tensor:
        """The tensor that the client kept under this name, or ``default`` if it has not."""
        return self._memory.recall(self._client, self._moment).get(name, default)

    def keep(self, **kept: torch.Tensor) -> None:
        """Keeps these tensors under their names, in place of all that was kept before.

        A training that ended in NaN or infinity is not kept: the client goes on from what it had.
        """
        if all(bool(torch.isfinite(tensor).all()) for tensor in kept.values()):
            self._memory.keep(self._client, kept, self._moment)


@dataclass(frozen=True)
class InMemory(Memory):
    """Gone when the process ends."""

    _kept: dict[str, dict[Moment, tuple[Kept, bool]]] = field(default_factory=dict)

    def _moments(self, client: str) -> Sequence[Moment]:
        return sorted(self._kept.get(client, ()))

    def _read(self, client: str, moment: Moment) -> tuple[Kept, bool]:
        return self._kept[client][moment]

    def _write(self, client: str, moment: Moment, kept: Kept, *, first: bool) -> None:
        self._kept.setdefault(client, {})[moment] = ({name: tensor.clone() for name, tensor in kept.items()}, first)

    def _forget(self, client: str, moment: Moment) -> None:
        del self._kept[client][moment]


_FIRST: Final = "first"


@dataclass(frozen=True)
class OnDisk(Memory):
    """In a folder, so that a run can be resumed: a folder a client, a file a moment. It holds what clients would not send.

    Args:
        folder: made when something is first kept.
    """

    folder: Path

    def _moments(self, client: str) -> Sequence[Moment]:
        return sorted(
            (int(a), int(b)) for a, b in (path.stem.split("-") for path in self._of(client).glob("*-*.safetensors"))
        )

    def _read(self, client: str, moment: Moment) -> tuple[Kept, bool]:
        path = self._file(client, moment)
        try:
            with safe_open(path, framework="pt") as file:
                return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()[_FIRST] == "yes"  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, TypeError) as error:
            raise ConfigError(f"{path} is not what a client kept ({error}); restore it from a copy.") from None

    def _write(self, client: str, moment: Moment, kept: Kept, *, first: bool) -> None:
        tensors = {name: tensor.clone() for name, tensor in kept.items()}
        replace_file(self._file(client, moment), save(tensors, metadata={_FIRST: "yes" if first else "no"}))

    def _forget(self, client: str, moment: Moment) -> None:
        self._file(client, moment).unlink()

    def _of(self, client: str) -> Path:
        """Of a name's fingerprint: a client may be called anything."""
        return self.folder / hashlib.sha256(client.encode(errors="surrogatepass")).hexdigest()[:24]

    def _file(self, client: str, moment: Moment) -> Path:
        return self._of(client) / f"{moment[0]}-{moment[1]}.safetensors"
