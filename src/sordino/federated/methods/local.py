"""Every client by itself: the reference without any federation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sordino.federated.learner import Learner, train
from sordino.federated.memory import ClientMemory
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import METHODS
from sordino.federated.methods.own_model import OwnModel
from sordino.layout import ParameterLayout
from sordino.privacy import Phase, Reads

__all__ = ["LocalOnly"]


@METHODS.register("local")
@dataclass(frozen=True, slots=True)
class LocalOnly(OwnModel):
    """Each client goes on training its own model, whenever it is drawn. Nothing leaves it, and nothing is charged."""

    def phases(self, layout: ParameterLayout, *, embedding_size: int | None = None) -> tuple[Phase, ...]:  # noqa: ARG002
        """One, in which nothing is sent."""
        return (Phase("train", layout, Reads.NOTHING),)

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:
        """Trains on from the client's own model; the first time from the model that everybody started with."""
        start = self.own(memory, otherwise=task.start)
        result = train(learner, replace(task, start=start, seeds=task.seeds.at("personal")))
        self.keep_own(memory, start + result.update.values)
        return Reply(task.client, None, result.loss, result.steps)
