"""A model behind a wire, for a client that need not know: a `GrowingServer`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

import torch

from sordino.errors import DataError
from sordino.split.growing import require_growing
from sordino.split.hidden_states import ModelCard
from sordino.split.wire.batches import Batch, states_of, unpack
from sordino.split.wire.connection import LARGEST, Connection, Endpoint, ServerRefused
from sordino.split.wire.limits import Limits
from sordino.split.wire.messages import CARD, STATES, Message
from sordino.split.wire.remote_growth import RemoteGrowth
from sordino.split.wire.service import DESCRIBE, STATES_OF
from sordino.split.wire.traffic import Traffic

__all__ = ["RemoteStates"]

_FIRST_S: Final = 20.0
"""A server that is not there at the start is a mistake; one that goes away later may come back."""


class RemoteStates:
    """Hidden states of a model that another process serves; safe to use from several threads.

    Batches that exceed the server's limits travel in parts. A server that goes away is waited for, and what it did not
    answer is sent again as it was; one that comes back with another model is refused.

    Args:
        endpoint: the server.
        expected: the card of the model that the client has learned with; None to take what is there.
        patience_s: how long a server may be away.

    Raises:
        ConfigError: an endpoint that cannot be, or no token.
        ServerUnreachable: there is no such server.
        ServerRefused: it does not know the token, or serves another model than the one expected.
    """

    def __init__(self, endpoint: Endpoint, *, expected: ModelCard | None = None, patience_s: float = 300.0) -> None:
        self._connection = Connection(endpoint, patience_s=patience_s)
        try:
            said = self._connection.call(DESCRIBE, Message(), answer=CARD, patience_s=min(_FIRST_S, patience_s)).said
            self._card = ModelCard.from_json(said["card"])
            limits = Limits.from_json(said["limits"])
            if expected is not None and expected != self._card:
                raise ServerRefused(
                    f"{endpoint.address} serves {self._card.model} with card {self._card.fingerprint}: expected "
                    f"{expected.model} with card {expected.fingerprint}, which this client has learned with; find that one.",
                    code="FAILED_PRECONDITION",
                )
        except BaseException:
            self._connection.close()
            raise
        self._at_once = threading.BoundedSemaphore(limits.calls_at_once)
        self._limits = replace(limits, max_message_mib=min(limits.max_message_mib, LARGEST / (1 << 20)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    @property
    def traffic(self) -> Traffic:
        """What has gone over the wire so far."""
        return self._connection.meter.read()

    def describe(self) -> ModelCard:
        """See `StateServer.describe`: what the server said at the beginning, and is held to."""
        return self._card

    def states(
        self, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        """See `StateServer.states`.

        Raises:
            ConfigError, DataError: as there; also a sequence that by itself exceeds the server's limits.
            ServerUnreachable: the server has been away for too long.
            ServerRefused: it serves another model now.
        """
        batch = Batch.of(self._card, noised, mask, layers=layers, reduction=reduction)
        parts = list(self._parts(batch))  # all are looked at before the first is sent
        rows = torch.cat([self._rows(part) for part in parts])
        return unpack(rows.to(noised.device), mask).transpose(1, 2).contiguous()

    def open(self, *, layers: Sequence[int], reduction: int | None = None) -> RemoteGrowth:
        """See `GrowingServer.open`."""
        require_growing(self._card, layers, reduction=reduction)
        return RemoteGrowth(self._connection, self._card, limits=self._limits, layers=layers, reduction=reduction)

    def _rows(self, batch: Batch) -> torch.Tensor:
        with self._at_once:
            answer = self._connection.call(STATES_OF, batch.to_message(), answer=STATES)
        return states_of(answer, card=batch.card, shape=batch.shape_down)

    def _parts(self, batch: Batch) -> Iterator[Batch]:
        """The batch, cut between sequences where the server's limits ask for it."""
        first = 0
        for last in range(1, len(batch.lengths) + 1):
            if self._limits.excess(batch.part(first, last)):
                if last - first > 1:
                    yield batch.part(first, last - 1)
                first = last - 1
                if excess := self._limits.excess(batch.part(first, last)):
                    raise DataError(f"one sequence is too much for the server: {excess}; cut it, or ask for less.")
        yield batch.part(first, len(batch.lengths))
