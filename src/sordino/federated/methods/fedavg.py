"""Federated averaging with equal weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from sordino._check import positive
from sordino.config import option
from sordino.federated.learner import Learner, train
from sordino.federated.memory import ClientMemory
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import METHODS, FederatedMethod, ServerState, Stage
from sordino.federated.objective import PLAIN, Objective
from sordino.privacy import Released

__all__ = ["FedAvg"]


@METHODS.register("fedavg")
@dataclass(frozen=True, slots=True)
class FedAvg(FederatedMethod):
    """``theta <- theta + server_lr * (sum of clipped updates + noise) / n``.

    Every client weighs the same: weighting by the number of examples would let one client's influence exceed what the
    noise is calibrated for.

    Source: McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017.
    """

    personal_models: ClassVar[bool] = False

    server_lr: float = option("Step size of the server; 1 is plain averaging.", 1.0)

    def __post_init__(self) -> None:
        positive("federated.method.server_lr", self.server_lr)

    def objective(self, task: Task) -> Objective:  # noqa: ARG002
        """What a client's training aims at besides its own loss."""
        return PLAIN

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:  # noqa: ARG002
        """Trains from the global model and clips what changed."""
        result = train(learner, task, self.objective(task))
        return Reply(task.client, task.bounding.clip(result.update), result.loss, result.steps)

    def combine(self, state: ServerState, released: Released, stage: Stage) -> ServerState:  # noqa: ARG002
        """Adds the released mean."""
        return replace(state, values=state.values.add(released.values, alpha=self.server_lr))
