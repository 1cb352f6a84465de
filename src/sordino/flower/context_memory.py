"""What a node's clients keep between rounds, in the state that Flower holds for the node while a run lasts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from sordino.federated import Memory
from sordino.federated.memory import Kept, Moment

__all__ = ["ContextMemory"]

_FIRST: Final = "first"
_PREFIX: Final = "kept"


@dataclass(frozen=True)
class ContextMemory(Memory):
    """Two records for each moment: the tensors, and whether anything was kept before them.

    The state ends with the run. A run that is resumed is another one to Flower, and its clients start anew.

    Args:
        state: of the node, in this run.
        topic: the part of the experiment that this is the memory of; it knows nothing of others.
    """

    state: RecordDict
    topic: str = ""

    @classmethod
    def about(cls, topic: str, state: RecordDict) -> ContextMemory:
        """The memory of one topic. What was kept for others is forgotten, since the server does not come back to them."""
        own = _prefix(topic)
        for key in [key for key in state if _PREFIX in key and own not in key]:
            del state[key]
        return cls(state, topic)

    def _moments(self, client: str) -> Sequence[Moment]:
        own = f"{_prefix(self.topic)}-{_fingerprint(client)}-"
        parts = (key.removeprefix(own).split("-") for key in self.state.array_records if key.startswith(own))
        return sorted((int(number), int(phase)) for number, phase in parts)

    def _read(self, client: str, moment: Moment) -> tuple[Kept, bool]:
        key = self._key(client, moment)
        kept = {name: torch.from_numpy(array.numpy().copy()) for name, array in self.state.array_records[key].items()}
        return kept, bool(self.state.config_records[f"{_FIRST}-{key}"][_FIRST])

    def _write(self, client: str, moment: Moment, kept: Kept, *, first: bool) -> None:
        key = self._key(client, moment)
        self.state[key] = ArrayRecord({name: Array(tensor.numpy()) for name, tensor in kept.items()})
        self.state[f"{_FIRST}-{key}"] = ConfigRecord({_FIRST: first})

    def _forget(self, client: str, moment: Moment) -> None:
        key = self._key(client, moment)
        del self.state[key]
        del self.state[f"{_FIRST}-{key}"]

    def _key(self, client: str, moment: Moment) -> str:
        return f"{_prefix(self.topic)}-{_fingerprint(client)}-{moment[0]}-{moment[1]}"


def _prefix(topic: str) -> str:
    return f"{_PREFIX}-{_fingerprint(topic)}"


def _fingerprint(name: str) -> str:
    """A client may be called anything, and whoever reads the state need not know how."""
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:24]
