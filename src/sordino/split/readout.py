"""What the client reads off representations: here a label of each sequence; see also `sordino.split.transcripts`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import torch

    from sordino.split.corrector import Scorer
    from sordino.split.exchange import Exchange
    from sordino.split.methods.base import Fitted
    from sordino.split.side_network import SideNetwork
    from sordino.split.tally import Sent

__all__ = ["Labels", "Readout"]


class Readout(ABC):
    """What a method must find out of each sequence, with a side network of its own or without one."""

    causal: ClassVar[bool] = False
    """Whether a token's representation must not know the tokens after it."""

    @abstractmethod
    def learner(self, network: SideNetwork, *, width: int) -> Scorer:
        """The network with a new head on what it corrects, ``width`` numbers a token."""

    @abstractmethod
    def fit_head(
        self, train: Exchange, *, features: Callable[[Exchange], torch.Tensor], used: Callable[[Exchange], Sent]
    ) -> Fitted:
        """A linear head on representations as they are.

        Args:
            train: the training sequences.
            features: tokens' representations of an exchange, [sequences, longest, width].
            used: bytes that ``features`` takes.
        """


@dataclass(frozen=True, slots=True)
class Labels(Readout):
    """One label of each sequence, off the mean of its tokens.

    Attributes:
        classes: number of labels.
    """

    classes: int

    def learner(self, network: SideNetwork, *, width: int) -> Scorer:
        """See `Readout.learner`."""
        from sordino.split.corrector import Corrector
        from sordino.split.heads import Classifier

        return Corrector(network, Classifier(width=width, classes=self.classes))

    def fit_head(
        self, train: Exchange, *, features: Callable[[Exchange], torch.Tensor], used: Callable[[Exchange], Sent]
    ) -> Fitted:
        """See `Readout.fit_head`."""
        from sordino.split.linear_head import fit_head

        return fit_head(train, features=features, used=used)
