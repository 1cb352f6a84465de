"""Federated averaging, and beside it a personal model that each client trains for itself and holds near the global one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

import torch

from sordino._check import at_least
from sordino.config import option
from sordino.federated.learner import Learner, train
from sordino.federated.memory import ClientMemory
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import METHODS, ServerState
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.objective import PLAIN, Objective, Proximal
from sordino.seeds import Seeds

__all__ = ["Ditto"]

_MODEL: Final = "model"


@METHODS.register("ditto")
@dataclass(frozen=True, slots=True)
class Ditto(FedAvg):
    """`FedAvg`, and beside it a model of each client's own, which it holds near the global one.

    Each client minimises ``loss + lambda / 2 ||v - theta_global||**2`` over its own v, from round to round.

    Twice the compute of FedAvg, and the same release. With lambda = 0 the personal models are those of ``local``.

    Source: Li et al., Ditto: Fair and Robust Federated Learning Through Personalization, 2021, algorithm 1.
    """

    personal_models: ClassVar[bool] = True

    strength: float = option("lambda: how strongly the personal model is drawn to the global one.", 0.1)

    def __post_init__(self) -> None:
        FedAvg.__post_init__(self)
        at_least("federated.method.strength", self.strength, 0)

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:
        """Trains the personal model, then the global one, whose update it sends."""
        start = memory.recall(_MODEL, task.start)
        objective = Objective(proximal=(Proximal(self.strength, task.start),)) if self.strength else PLAIN
        own = train(learner, replace(task, start=start, seeds=task.seeds.at("personal")), objective)
        memory.keep(**{_MODEL: start + own.update.values})
        result = train(learner, task)
        return Reply(task.client, task.bounding.clip(result.update), result.loss, own.steps + result.steps)

    def personal(
        self,
        state: ServerState,
        client: str,  # noqa: ARG002
        *,
        learner: Learner,  # noqa: ARG002
        memory: ClientMemory,
        seeds: Seeds,  # noqa: ARG002
    ) -> torch.Tensor:
        """The client's own model; the global one before its first round."""
        return memory.recall(_MODEL, state.values)
