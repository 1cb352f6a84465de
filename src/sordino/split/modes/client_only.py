"""Only the client learns: noised embeddings are all that ever leaves, each once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sordino.seeds import Seeds
from sordino.split.modes.base import MODES, TrainingMode

if TYPE_CHECKING:
    import torch

    from sordino.split.corrector import Learner
    from sordino.split.exchange import Exchange
    from sordino.split.sending import Sender

__all__ = ["ClientOnly"]


class _Fetched:
    """States that were fetched once for one draw of noise; nothing goes back."""

    tally = None
    received = None

    def __init__(self, exchange: Exchange, *, layers: tuple[int, ...], reduction: int | None) -> None:
        self.server = exchange.server
        self._states = exchange.states(layers, reduction=reduction)
        self.sent = exchange.sent(layers, reduction=reduction)

    def begin(self, epoch: int) -> None:
        """Nothing to pay."""

    def states(self, rows: torch.Tensor) -> torch.Tensor:
        return self._states[rows]

    def loss(self, learner: Learner, rows: torch.Tensor, states: torch.Tensor) -> float:  # noqa: ARG002
        return 0.0

    def give_back(self, states: torch.Tensor, rows: torch.Tensor) -> None:
        """Nothing leaves."""


@MODES.register("client-only")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOnly(TrainingMode):
    """The server is frozen and gets one draw of noised embeddings a sequence, however long the client trains.

    Losses, gradients and labels stay with the client, so the guarantee of the noise is the guarantee of the whole.
    """

    def open(
        self,
        exchange: Exchange,
        *,
        layers: tuple[int, ...],
        reduction: int | None,
        sender: Sender,  # noqa: ARG002 - nothing more is sent
        seeds: Seeds,  # noqa: ARG002
    ) -> _Fetched:
        """See `TrainingMode.open`."""
        return _Fetched(exchange, layers=layers, reduction=reduction)
