"""Federated averaging, and beside it a personal model that each client trains for itself and holds near the global one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from sordino._check import at_least
from sordino.config import option
from sordino.federated.learner import Learner, train
from sordino.federated.memory import ClientMemory
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import METHODS
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.methods.own_model import OwnModel
from sordino.federated.objective import PLAIN, Objective, Proximal

__all__ = ["Ditto"]


@METHODS.register("ditto")
@dataclass(frozen=True, slots=True)
class Ditto(OwnModel, FedAvg):
    """`FedAvg`, and beside it a model of each client's own, which it holds near the global one.

    Each client minimises ``loss + lambda / 2 ||v - theta_global||**2`` over its own v, from round to round.

    Twice the compute of FedAvg, and the same release. With lambda = 0 the personal models are those of ``local``.

    Source: Li et al., Ditto: Fair and Robust Federated Learning Through Personalization, 2021, algorithm 1.
    """

    strength: float = option("lambda: how strongly the personal model is drawn to the global one.", 0.1)

    def __post_init__(self) -> None:
        FedAvg.__post_init__(self)
        at_least("federated.method.strength", self.strength, 0)

    def held(self, anchor: torch.Tensor) -> Objective:
        """Near the global model."""
        return Objective(proximal=(Proximal(self.strength, anchor),)) if self.strength else PLAIN

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:
        """Trains the personal model, then the global one, whose update it sends."""
        start = self.own(memory, otherwise=task.start)
        own = train(learner, replace(task, start=start, seeds=task.seeds.at("personal")), self.held(task.start))
        self.keep_own(memory, start + own.update.values)
        result = train(learner, task)
        return Reply(task.client, task.bounding.clip(result.update), result.loss, own.steps + result.steps)
