"""What every mode of training has: the loop, and what it costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Protocol

from sordino._check import at_least, positive
from sordino._registry import Registry
from sordino.config import option
from sordino.seeds import Seeds

if TYPE_CHECKING:
    import torch

    from sordino.split.corrector import Learner
    from sordino.split.exchange import Exchange
    from sordino.split.hidden_states import StateServer
    from sordino.split.sending import Sender
    from sordino.split.tally import Sent, Tally

__all__ = ["MODES", "Channel", "TrainingMode"]


class Channel(Protocol):
    """What goes between client and server while the client's network is trained."""

    @property
    def server(self) -> StateServer:
        """Answers afterwards, with what it has learned."""
        ...

    @property
    def sent(self) -> Sent:
        """Bytes so far."""
        ...

    @property
    def tally(self) -> Tally | None:
        """Counts what the server is asked beside the exchanges; None where they tell all."""
        ...

    @property
    def received(self) -> torch.Tensor | None:
        """What the server got back for each state, summed over the epochs; None where nothing goes back.

        Shape:
            result: float32 [sequences, L', longest, width]
        """
        ...

    def begin(self, epoch: int) -> None:
        """Before each pass over the data: pays for what the pass will release."""
        ...

    def states(self, rows: torch.Tensor) -> torch.Tensor:
        """States of the sequences of these numbers, [batch, L', longest, width]; needs a gradient where one goes back."""
        ...

    def loss(self, learner: Learner, rows: torch.Tensor, states: torch.Tensor) -> torch.Tensor | float:
        """What is minimised besides the task's loss."""
        ...

    def give_back(self, states: torch.Tensor, rows: torch.Tensor) -> None:
        """After the client's backward pass: sends what the server is to learn from, if anything."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingMode(ABC):
    """A mode; a frozen dataclass whose fields are its options."""

    name: ClassVar[str]
    trains_server: ClassVar[bool] = False

    epochs: int = option("Passes over the training sequences.", 20)
    batch_size: int = option("Sequences of a step.", 16)
    lr: float = option("Learning rate of AdamW, falling to zero along a cosine.", 1e-3)
    weight_decay: float = option("Weight decay of AdamW.", 0.01)
    dropout: float = option("Dropout in the side network.", 0.2)

    def __post_init__(self) -> None:
        at_least("training.epochs", self.epochs, 1)
        at_least("training.batch_size", self.batch_size, 1)
        positive("training.lr", self.lr)
        at_least("training.weight_decay", self.weight_decay, 0)
        at_least("training.dropout", self.dropout, 0)

    def client_only(self) -> TrainingMode:
        """Training with the same settings in which nothing more is sent, for methods that have no part at the server."""
        settings = {field.name: getattr(self, field.name) for field in fields(TrainingMode)}
        return MODES.get("client-only")(**settings)

    @abstractmethod
    def open(
        self, exchange: Exchange, *, layers: tuple[int, ...], reduction: int | None, sender: Sender, seeds: Seeds
    ) -> Channel:
        """The channel of one training."""

    def train(self, learner: Learner, exchange: Exchange, *, channel: Channel, seeds: Seeds) -> list[float]:
        """Trains the client's network.

        Args:
            learner: changed in place; in evaluation mode afterwards.
            exchange: the training sequences.
            channel: from `open`.
            seeds: order of the sequences.

        Returns:
            Mean loss of each epoch. It depends on the private texts and labels: not to be released.
        """
        import torch

        steps = self.epochs * -(-len(exchange) // self.batch_size)
        optimiser = torch.optim.AdamW(learner.parameters(), lr=self.lr, weight_decay=self.weight_decay)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        losses = []
        learner.train()
        for epoch in range(1, self.epochs + 1):
            channel.begin(epoch)
            total = 0.0
            for rows in self._batches(len(exchange), seeds.at("epoch", epoch)):
                states = channel.states(rows)
                task = learner.loss(exchange, rows, states)
                optimiser.zero_grad()
                (task + channel.loss(learner, rows, states)).backward()
                channel.give_back(states, rows)
                optimiser.step()
                schedule.step()
                total += float(task.detach()) * len(rows)
            losses.append(total / len(exchange))
        learner.eval()
        return losses

    def _batches(self, count: int, seeds: Seeds) -> Iterator[torch.Tensor]:
        import torch

        order = torch.from_numpy(seeds.generator().permutation(count))
        yield from order.split(self.batch_size)


MODES: Registry[TrainingMode] = Registry("mode of split training", package="sordino.split.modes")
"""All modes, by name."""
