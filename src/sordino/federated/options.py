"""The ``[federated]`` table of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from sordino._check import at_least, at_most, fraction, positive
from sordino.config import Choice, option
from sordino.federated.methods.base import METHODS, FederatedMethod
from sordino.federated.methods.fedavg import FedAvg
from sordino.privacy import COHORTS, CohortSampler, Poisson

__all__ = ["FederatedOptions", "LocalOptions"]

_MOST_ROUNDS: Final = 100_000
"""More are a slip of the keyboard, which the accountant would count for hours or run out of memory over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """How a client trains: AdamW with a cosine from ``lr`` to 0 over its local steps."""

    epochs: int = option("Passes over the client's utterances in each round.", 4)
    lr: float = option("Peak learning rate of AdamW.", 3e-3)
    encoder_lr_multiplier: float = option("Factor on the learning rate of the encoder's adapters.", 1.0)
    batch_size: int = option("Utterances a step.", 16)
    micro_batch_size: int = option(
        "Utterances computed at once, their gradients added up to those of the step: changes memory and time only. 0: all.",
        0,
    )
    weight_decay: float = option("AdamW's weight decay.", 0.0)
    gradient_clip: float = option("L2 norm that a step's gradient is scaled down to.", 1.0)

    def __post_init__(self) -> None:
        at_least("federated.local.epochs", self.epochs, 1)
        positive("federated.local.lr", self.lr)
        at_least("federated.local.encoder_lr_multiplier", self.encoder_lr_multiplier, 0)
        at_least("federated.local.batch_size", self.batch_size, 1)
        at_least("federated.local.micro_batch_size", self.micro_batch_size, 0)
        at_least("federated.local.weight_decay", self.weight_decay, 0)
        positive("federated.local.gradient_clip", self.gradient_clip)


@dataclass(frozen=True, slots=True, kw_only=True)
class FederatedOptions:
    """How the federation learns."""

    rounds: int = option("Number of rounds T.", 10)
    cohort: Annotated[CohortSampler, Choice(COHORTS)] = option("Who takes part in a round.", factory=Poisson)
    local: LocalOptions = option("Training at the client.", factory=LocalOptions)
    method: Annotated[FederatedMethod, Choice(METHODS)] = option("The federated algorithm.", factory=FedAvg)
    dropout_rate: float = option("Chance that a drawn client never answers, to rehearse unreliable sites.", 0.0)

    def __post_init__(self) -> None:
        at_most("federated.rounds", at_least("federated.rounds", self.rounds, 1), _MOST_ROUNDS)
        fraction("federated.dropout_rate", self.dropout_rate, zero=True)
