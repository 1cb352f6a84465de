"""What every method has: it is fitted on one set of sequences and gives scores for another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from sordino._registry import Registry
from sordino.seeds import Seeds
from sordino.split.modes.base import TrainingMode
from sordino.split.readout import Readout

if TYPE_CHECKING:
    import torch

    from sordino.split.exchange import Exchange
    from sordino.split.hidden_states import StateServer
    from sordino.split.sending import Sender
    from sordino.split.tally import Sent

__all__ = ["METHODS", "Fitted", "Scene", "SplitMethod"]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What a method may use.

    Attributes:
        train: the training sequences, as client and server know them.
        public: texts that protect nobody; their clean embeddings were sent.
        public_noised: the same texts with noise that the client made for itself.
        clean: the training sequences sent as they are, to a model in the client's own process.
        readout: what is to be found out of each sequence.
        layers: the blocks that the layer filter chose.
        reduction: r.
        mode: how the client's network is trained.
        sender: for modes that send more.
        seeds: of initial weights and of the order of training.
    """

    train: Exchange
    public: Exchange
    public_noised: Exchange
    clean: Exchange
    readout: Readout
    layers: tuple[int, ...]
    reduction: int
    mode: TrainingMode
    sender: Sender
    seeds: Seeds

    def alone(self, server: StateServer) -> Scene:
        """The same without the owner of the large model: ``server`` stands in for it, and only the client learns."""
        return replace(self, train=self.train.with_server(server), mode=self.mode.client_only())


class Fitted(Protocol):
    """A method after training."""

    @property
    def sent(self) -> Sent:
        """Bytes that training took."""
        ...

    def scores(self, exchange: Exchange) -> torch.Tensor:
        """What the readout gives: for labels the probability of each, float32 [sequences, classes]."""
        ...

    def sent_for(self, exchange: Exchange) -> Sent:
        """Bytes that `scores` takes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitMethod(ABC):
    """A method; a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    sees: ClassVar[Literal["noised", "clean", "nothing"]] = "noised"
    """What the server is shown of private texts: noised embeddings, clean ones (a reference only), or nothing at all."""

    linear: ClassVar[bool] = False
    """Whether a linear head reads finished representations, with which one cannot write token by token."""

    @abstractmethod
    def fit(self, scene: Scene) -> Fitted:
        """Trains on ``scene.train``."""


METHODS: Registry[SplitMethod] = Registry("method of split learning", package="sordino.split.methods")
"""All methods, by name."""
