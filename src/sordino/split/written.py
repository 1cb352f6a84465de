"""What the client reads off representations where it writes: the token after each; see also `sordino.split.generation`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NoReturn, cast

import torch

from sordino.errors import ConfigError
from sordino.split.exchange import Exchange
from sordino.split.fitting import FittedCorrector
from sordino.split.generation import Say, Server, write
from sordino.split.growing import GrowingServer
from sordino.split.readout import Readout
from sordino.split.side_network import SideNetwork
from sordino.split.tally import Sent, Tally
from sordino.split.writer import Writer

__all__ = ["FittedWriter", "NextTokens"]


@dataclass(frozen=True)
class NextTokens(Readout):
    """The token after each, over the embedding table that the client has.

    Attributes:
        table: float32 [vocabulary, d].
    """

    causal: ClassVar[bool] = True

    table: torch.Tensor

    def learner(self, network: SideNetwork, *, width: int) -> Writer:  # noqa: ARG002 - the table's
        """See `Readout.learner`."""
        return Writer(network, self.table)

    def fit_head(self, *_: object, **__: object) -> NoReturn:
        """Raises ConfigError: a head on the states of whole texts cannot write one token after the other."""
        raise ConfigError(
            "a linear head on finished states cannot write: expected methods with a side network of the client's; choose "
            "hidden-echo, zero-states or clean-states."
        )


@dataclass(frozen=True, kw_only=True)
class FittedWriter:
    """A trained writer, which writes after each text once.

    Attributes:
        fitted: its network, and what answers.
        say: how written tokens are sent.
        tally: counts what they take.
        end: the token that ends a text.
        most: tokens to write at most.
    """

    fitted: FittedCorrector
    say: Say
    tally: Tally
    end: int
    most: int
    _written: dict[Exchange, tuple[torch.Tensor, Sent]] = field(default_factory=dict, repr=False)

    @property
    def sent(self) -> Sent:
        """See `Fitted.sent`."""
        return self.fitted.sent

    def scores(self, exchange: Exchange) -> torch.Tensor:
        """What is written after each text: int64 [texts, most], ``end`` from where it ends."""
        return self._once(exchange)[0]

    def sent_for(self, exchange: Exchange) -> Sent:
        """See `Fitted.sent_for`."""
        return self._once(exchange)[1]

    def _once(self, exchange: Exchange) -> tuple[torch.Tensor, Sent]:
        """Whoever asks again pays nothing and learns nothing new."""
        if exchange not in self._written:
            writer = self.fitted.learner
            assert isinstance(writer, Writer)  # noqa: S101 - what `NextTokens` makes
            served = self.fitted.served(exchange)
            server = Server(
                growing=cast(GrowingServer, served.server),  # all that a writer is fitted to can grow
                layers=self.fitted.layers,
                reduction=self.fitted.reduction,
                tally=self.tally,
            )
            self._written[exchange] = write(writer, served, server=server, say=self.say, end=self.end, most=self.most)
        return self._written[exchange]
