"""Personal models as proximal points of what is federated (Moreau envelopes)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from sordino._check import at_least, fraction, positive
from sordino.config import option
from sordino.federated.learner import Learner, train
from sordino.federated.memory import ClientMemory
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import METHODS
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.methods.own_model import OwnModel
from sordino.federated.objective import Objective, Proximal
from sordino.privacy import Update

__all__ = ["PFedMe"]


@METHODS.register("pfedme")
@dataclass(frozen=True, slots=True)
class PFedMe(OwnModel, FedAvg):
    """`FedAvg` of what personal models are drawn to (Moreau envelopes).

    A client repeats: ``theta = argmin loss + lambda / 2 ||theta - w||**2`` from w, then ``w <- w - step (w - theta)``.

    It sends what changed in w, and keeps theta as its own model. The inner minimum is approximated by one local training.
    In the source ``step`` is eta lambda, and ``server_lr`` is beta.

    Source: T Dinh, Tran and Nguyen, Personalized Federated Learning with Moreau Envelopes, 2020, algorithm 1.
    """

    strength: float = option("lambda: how strongly the personal model is drawn to w.", 1.0)
    step: float = option("Share of the way from w to the personal model that w goes.", 0.5)
    local_rounds: int = option("Repetitions in a round, each a training of the client.", 2)

    def __post_init__(self) -> None:
        FedAvg.__post_init__(self)
        positive("federated.method.strength", self.strength)
        fraction("federated.method.step", self.step, one=True)
        at_least("federated.method.local_rounds", self.local_rounds, 1)

    def held(self, anchor: torch.Tensor) -> Objective:
        """The proximal term of the inner minimum."""
        return Objective(proximal=(Proximal(self.strength, anchor),))

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:
        """Moves w towards personal models, keeps the last of these, and sends what changed in w."""
        w, steps, loss = task.start, 0, 0.0
        for number in range(self.local_rounds):
            result = train(learner, replace(task, start=w, seeds=task.seeds.at("inner", number)), self.held(w))
            self.keep_own(memory, w + result.update.values)
            w, steps, loss = w + self.step * result.update.values, steps + result.steps, result.loss
        return Reply(task.client, task.bounding.clip(Update(w - task.start)), loss, steps)
