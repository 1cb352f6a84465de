"""Federated averaging of a shared body, while every client keeps a head of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import torch

from sordino.config import option
from sordino.errors import ConfigError
from sordino.federated.learner import Learner, train
from sordino.federated.memory import ClientMemory
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import METHODS, FederatedMethod, ServerState, Stage
from sordino.federated.objective import Objective
from sordino.federated.part import Part
from sordino.layout import ParameterLayout
from sordino.privacy import Phase, PhasedPlan, Released, Update
from sordino.seeds import Seeds

__all__ = ["FedPer"]

_HEAD: Final = "head"


@METHODS.register("fedper")
@dataclass(frozen=True, slots=True)
class FedPer(FederatedMethod):
    """`FedAvg` of a shared body, while every client keeps a head of its own.

    A client trains both together, sends the body's update and keeps the head. A head starts as the global model's. With
    no personal component it is `FedAvg`.

    Source: Arivazhagan et al., Federated Learning with Personalization Layers, 2019.
    """

    personal_components: tuple[str, ...] = option("Components that make up the head.", ("sd",))

    def phases(self, layout: ParameterLayout, *, embedding_size: int | None = None) -> tuple[Phase, ...]:  # noqa: ARG002
        """One, in which bodies are added up."""
        return (Phase("train", self.head(layout).rest.layout),)

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:
        """Trains the global body with the client's own head."""
        head = self.head(learner.layout)
        start = self.with_head(task.start, head, memory)
        result = train(learner, replace(task, start=start))
        self.keep_head(head, start + result.update.values, memory)
        body = Update(head.rest.take(result.update.values))
        return Reply(task.client, task.bounding.clip(body), result.loss, result.steps)

    def combine(self, state: ServerState, released: Released, stage: Stage) -> ServerState:
        """Adds the released mean to the body."""
        body = self.head(stage.layout).rest
        return replace(state, values=body.add(released.values, to=state.values))

    def personal(
        self,
        given: torch.Tensor,
        client: str,  # noqa: ARG002
        *,
        learner: Learner,
        memory: ClientMemory,
        seeds: Seeds,  # noqa: ARG002
    ) -> torch.Tensor:
        """The global body with the client's head."""
        return self.with_head(given, self.head(learner.layout), memory)

    def newcomer(
        self,
        state: ServerState,
        client: str,
        *,
        learner: Learner,
        plan: PhasedPlan,  # noqa: ARG002
        seeds: Seeds,
    ) -> torch.Tensor:
        """The global body, and a head that is fitted to it with the body frozen."""
        head = self.head(learner.layout)
        if not head.names:
            return state.values
        fitted = learner.fit(client, state.values, seeds=seeds, objective=Objective(trained=head))
        return state.values + fitted.update.values

    def head(self, layout: ParameterLayout) -> Part:
        """What each client keeps; raises ConfigError where nothing would be left to share."""
        head = Part.of(layout, self.personal_components, key="federated.method.personal_components")
        if head.is_whole:
            raise ConfigError(
                f"federated.method.personal_components = {list(self.personal_components)} is the whole model: expected some "
                'of its components, so that something is shared; name fewer, or set federated.method = "local".'
            )
        return head

    @staticmethod
    def with_head(values: torch.Tensor, head: Part, memory: ClientMemory) -> torch.Tensor:
        """A model with the head that the client kept, if it did.

        Shape:
            values: float32 [layout.size]
            returns: float32 [layout.size]
        """
        return head.put(memory.recall(_HEAD, head.take(values)), into=values) if head.names else values

    @staticmethod
    def keep_head(head: Part, values: torch.Tensor, memory: ClientMemory) -> None:
        """Keeps the head of a model, float32 [layout.size]."""
        if head.names:
            memory.keep(**{_HEAD: head.take(values)})
