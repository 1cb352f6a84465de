"""Training as it was published, which leaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sordino._check import at_least, positive
from sordino.config import option
from sordino.privacy import PlainRelease
from sordino.seeds import Seeds
from sordino.split.modes.base import MODES, TrainingMode

if TYPE_CHECKING:
    import torch

    from sordino.split.exchange import Exchange
    from sordino.split.gradient_channel import GradientChannel
    from sordino.split.sending import Sender

__all__ = ["AsPublished"]


@MODES.register("as-published")
@dataclass(frozen=True, slots=True, kw_only=True)
class AsPublished(TrainingMode):
    """The published procedure, which protects nobody: gradients go back as they are, and every epoch draws noise anew.

    The gradients depend on clean embeddings and on labels, so whoever receives them is told of both, and the mean of an
    epoch's draws comes closer to the clean embedding with every epoch. Both are charged: the ledger has no guarantee then.
    """

    trains_server: ClassVar[bool] = True

    server_lr: float = option("Learning rate of the server's reducers and adapters.", 1e-3)
    bottleneck: float = option("a, the weight of the bottleneck's loss; 0 leaves it out.", 0.001)
    beta: float = option("The bottleneck's beta.", 1.0)
    lora: bool = option("Train adapters of the server's model, too.", default=False)

    def __post_init__(self) -> None:
        TrainingMode.__post_init__(self)
        positive("training.server_lr", self.server_lr)
        at_least("training.bottleneck", self.bottleneck, 0)

    def open(
        self, exchange: Exchange, *, layers: tuple[int, ...], reduction: int | None, sender: Sender, seeds: Seeds
    ) -> GradientChannel:
        """See `TrainingMode.open`."""
        from sordino.split.gradient_channel import open_channel
        from sordino.split.sequences import padded

        event = PlainRelease(what="gradients of every batch, which depend on clean embeddings and labels")

        def pay(epoch: int) -> torch.Tensor:
            sender.ledger.charge(event, round=epoch)
            rows = sender.again({"train": exchange.clean[exchange.mask]}, draw=1 + epoch)["train"]
            return padded(rows, exchange.mask)

        return open_channel(
            self,
            exchange,
            layers=layers,
            reduction=reduction,
            pay=pay,
            release=lambda gradient, _: gradient,
            tally=sender.tally,
            seeds=seeds,
        )
