"""How branches are trained, and how much harm a withdrawal may do."""

from __future__ import annotations

from dataclasses import dataclass

from sordino._check import at_least, fraction, positive
from sordino.config import option

__all__ = ["BackOff", "TrainingOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """Training of a branch: AdamW at a constant rate."""

    epochs: int = option("Passes over the clips.", 40)
    lr: float = option("Learning rate of AdamW.", 3e-3)
    weight_decay: float = option("AdamW's weight decay.", 1.0)
    batch_size: int = option("Clips a step.", 32)
    alone_rate: float = option(
        "Chance that a clip shows a branch nothing but its own modality; in joint training, that it lacks a modality.",
        0.5,
    )

    def __post_init__(self) -> None:
        at_least("modality.training.epochs", self.epochs, 1)
        positive("modality.training.lr", self.lr)
        at_least("modality.training.weight_decay", self.weight_decay, 0)
        at_least("modality.training.batch_size", self.batch_size, 1)
        fraction("modality.training.alone_rate", self.alone_rate, zero=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackOff:
    """Halves what is kept of a released change until the loss on public validation clips rises by no more than a bound.

    It reads the release and public clips only, so that trying costs no privacy, however often. Nothing kept is always
    within the bound.
    """

    max_loss: float = option("Most that the validation loss may rise against the public reference, in nats.", 0.02)
    halvings: int = option("How often the share is halved before nothing is kept.", 6)

    def __post_init__(self) -> None:
        at_least("modality.mode.back_off.max_loss", self.max_loss, 0)
        at_least("modality.mode.back_off.halvings", self.halvings, 0)
