"""Federated averaging of a shared body; each client first fits its own head to it, then the body to the head."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sordino._check import at_least
from sordino.config import option
from sordino.federated.learner import Learner, train
from sordino.federated.memory import ClientMemory
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import METHODS
from sordino.federated.methods.fedper import FedPer
from sordino.federated.objective import Objective
from sordino.privacy import Update

__all__ = ["FedRep"]


@METHODS.register("fedrep")
@dataclass(frozen=True, slots=True)
class FedRep(FedPer):
    """`FedPer` in turns: each client fits its head to the body, then the body to its head.

    The head is trained for ``head_epochs`` with the body frozen, then the body with the head frozen.

    Source: Collins et al., Exploiting Shared Representations for Personalized Federated Learning, 2021, algorithm 1.
    """

    head_epochs: int = option("Passes over the client's utterances that fit the head.", 4)
    body_epochs: int = option("Passes that fit the body afterwards.", 1)

    def __post_init__(self) -> None:
        at_least("federated.method.head_epochs", self.head_epochs, 1)
        at_least("federated.method.body_epochs", self.body_epochs, 1)

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:
        """Trains the head, then the body, and sends what changed in the body."""
        head = self.head(learner.layout)
        start, steps = self.with_head(task.start, head, memory), 0
        if head.names:
            fitted = train(
                learner,
                replace(task, start=start, seeds=task.seeds.at("head")),
                Objective(trained=head, epochs=self.head_epochs),
            )
            start, steps = start + fitted.update.values, fitted.steps
            self.keep_head(head, start, memory)
        result = train(learner, replace(task, start=start), Objective(trained=head.rest, epochs=self.body_epochs))
        body = Update(head.rest.take(result.update.values))
        return Reply(task.client, task.bounding.clip(body), result.loss, steps + result.steps)
