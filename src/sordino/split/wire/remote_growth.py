"""Sequences that grow at a model behind a wire: a `Growth`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import torch

from sordino.errors import DataError, SordinoError
from sordino.split.growing import require_growth
from sordino.split.hidden_states import ModelCard
from sordino.split.wire.batches import Batch, states_of
from sordino.split.wire.connection import Connection, ServerRefused
from sordino.split.wire.limits import Limits
from sordino.split.wire.messages import GROWN, NOTHING, Message
from sordino.split.wire.service import CLOSE, EXTEND, OPEN

__all__ = ["RemoteGrowth"]

_FAREWELL_S: Final = 2.0
"""How long a server may take to forget what has ended; otherwise it forgets by itself."""


class RemoteGrowth:
    """A batch of growing sequences whose keys and values a server keeps.

    A server that has lost them (it was started anew, or nobody had extended them for a while) gets what it had been sent
    again, as it was: no noise is drawn for that.
    """

    def __init__(
        self,
        connection: Connection,
        card: ModelCard,
        *,
        limits: Limits,
        layers: Sequence[int],
        reduction: int | None,
    ) -> None:
        self._connection, self._card, self._limits = connection, card, limits
        self._layers, self._reduction = tuple(layers), reduction
        self._name: str | None = None
        self._sent: torch.Tensor | None = None  # [batch, tokens, d]

    @property
    def tokens(self) -> int:
        """See `Growth.tokens`."""
        return 0 if self._sent is None else self._sent.shape[1]

    def extend(self, noised: torch.Tensor) -> torch.Tensor:
        """See `Growth.extend`.

        Raises:
            DataError: as there; also sequences that exceed the server's limits.
            ServerUnreachable: the server has been away for too long.
            ServerRefused: it serves another model now.
        """
        require_growth(self._card, noised, batch=None if self._sent is None else len(self._sent), before=self.tokens)
        whole = noised.float() if self._sent is None else torch.cat([self._sent, noised.float()], dim=1)
        batch = self._batch(whole)
        if excess := self._limits.excess(batch):
            raise DataError(f"the sequences grow too large for the server: {excess}; stop earlier, or grow fewer.")
        states = self._followed(noised.float())
        if states is None:
            states = self._opened(batch)[:, :, -noised.shape[1] :]
        self._sent = whole
        return states.to(noised.device)

    def close(self) -> None:
        """See `Growth.close`."""
        if self._name is not None:
            with suppress(SordinoError):
                message = Message({"growth": self._name})
                self._connection.call(CLOSE, message, answer=NOTHING, patience_s=_FAREWELL_S)
        self._name = self._sent = None

    def _followed(self, noised: torch.Tensor) -> torch.Tensor | None:
        """States of the new tokens from what the server keeps; None if it keeps nothing."""
        if self._name is None:
            return None
        message = Message({"growth": self._name, "at": self.tokens}, {"noised": noised.flatten(0, 1)})
        try:
            return self._states(EXTEND, message, batch=len(noised))
        except ServerRefused as refused:
            if refused.code != "NOT_FOUND":
                raise
            return None

    def _opened(self, batch: Batch) -> torch.Tensor:
        return self._states(OPEN, batch.to_message(), batch=len(batch.lengths))

    def _states(self, method: str, message: Message, *, batch: int) -> torch.Tensor:
        """The answer's states [batch, layers, new tokens, d or d/r]."""
        answer = self._connection.call(method, message, answer=GROWN)
        shape = (len(message.tensors["noised"]), len(self._layers), self._card.width // (self._reduction or 1))
        rows = states_of(answer, card=self._card.fingerprint, shape=shape)
        self._name = answer.said["growth"]
        return rows.view(batch, -1, *shape[1:]).transpose(1, 2).contiguous()

    def _batch(self, whole: torch.Tensor) -> Batch:
        return Batch(
            card=self._card.fingerprint,
            rows=whole.flatten(0, 1),
            lengths=(whole.shape[1],) * len(whole),
            layers=self._layers,
            reduction=self._reduction,
        )
