"""Federated averaging, and each client then trains the global model on its own recordings for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from sordino._check import at_least
from sordino.config import option
from sordino.federated.learner import Learner
from sordino.federated.memory import ClientMemory
from sordino.federated.methods.base import METHODS
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.objective import Objective
from sordino.seeds import Seeds

__all__ = ["FedAvgFineTuned"]


@METHODS.register("fedavg-finetune")
@dataclass(frozen=True, slots=True)
class FedAvgFineTuned(FedAvg):
    """`FedAvg`, and each client then trains the global model on its own recordings for itself.

    Whenever a client uses the model, it has trained the newest global one for ``epochs`` passes of its own. That
    training leaves nothing behind and sends nothing: it costs compute, and no privacy.
    """

    personal_models: ClassVar[bool] = True

    epochs: int = option("Passes over the client's own utterances after the last round.", 4)

    def __post_init__(self) -> None:
        FedAvg.__post_init__(self)
        at_least("federated.method.epochs", self.epochs, 1)

    def personal(
        self,
        given: torch.Tensor,
        client: str,
        *,
        learner: Learner,
        memory: ClientMemory,  # noqa: ARG002
        seeds: Seeds,
    ) -> torch.Tensor:
        """The global model after the client's own training."""
        result = learner.fit(client, given, seeds=seeds, objective=Objective(epochs=self.epochs))
        return given + result.update.values
