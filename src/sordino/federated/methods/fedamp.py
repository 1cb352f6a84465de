"""Personal models that draw on each other the more, the nearer they are (attentive message passing)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from sordino._check import at_least, positive
from sordino.config import option
from sordino.federated.learner import Learner, train
from sordino.federated.memory import ClientMemory
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import METHODS, FederatedMethod, ServerState, Stage
from sordino.federated.objective import PLAIN, Objective, Proximal
from sordino.layout import ParameterLayout
from sordino.privacy import Phase, Reads, Released

__all__ = ["FedAmp"]


@METHODS.register("fedamp")
@dataclass(frozen=True, slots=True, kw_only=True)
class FedAmp(FederatedMethod):
    """Each client's own model draws on the others' the more, the nearer they are to it.

    Client i is given ``u_i = (1 - sum_j xi_ij) w_i + sum_j xi_ij w_j`` and trains it, held near u_i; the result is w_i.

    ``xi_ij = (alpha / sigma) exp(-||w_i - w_j||**2 / sigma)`` for the others j, scaled down where they would add up to more
    than 1. It reads every client's own model, so it is private only where clients add the noise themselves.

    Source: Huang et al., Personalized Cross-Silo Federated Learning on Non-IID Data, 2021, equations 5 to 7, with
    ``A(x) = 1 - exp(-x / sigma)``.
    """

    alpha: float = option("Step size of the message passing.", 0.1)
    sigma: float = option("Squared distance over which attention falls by e.", 1.0)
    mu: float = option("How strongly a client is drawn to u_i while it trains: lambda / alpha of the source.", 0.01)

    def __post_init__(self) -> None:
        positive("federated.method.alpha", self.alpha)
        positive("federated.method.sigma", self.sigma)
        at_least("federated.method.mu", self.mu, 0)

    def phases(self, layout: ParameterLayout, *, embedding_size: int | None = None) -> tuple[Phase, ...]:  # noqa: ARG002
        """One, in which each client's update is read."""
        return (Phase("train", layout, Reads.EACH),)

    def start(self, state: ServerState, client: str, layout: ParameterLayout) -> torch.Tensor:  # noqa: ARG002
        """u_i; the mean model for a client that is new."""
        own = state.models.get(client)
        if own is None:
            return state.values
        others = [model for name, model in state.models.items() if name != client]
        distances = np.array([float((own - model).double().square().sum()) for model in others])
        attention = self.alpha / self.sigma * np.exp(-distances / self.sigma)
        attention = attention / max(attention.sum(), 1.0)
        message = own.double()
        for share, model in zip(attention, others, strict=True):
            message = message + share * (model - own)
        return message.float()

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:  # noqa: ARG002
        """Trains from u_i, held near it."""
        objective = Objective(proximal=(Proximal(self.mu, task.start),)) if self.mu else PLAIN
        result = train(learner, task, objective)
        return Reply(task.client, task.bounding.clip(result.update), result.loss, result.steps)

    def combine_each(self, state: ServerState, released: Mapping[str, Released], stage: Stage) -> ServerState:
        """Everybody who answered has a new model; the mean of all stands for whoever is new."""
        trained = {
            client: self.start(state, client, stage.layout) + upload.values for client, upload in released.items()
        }
        models = {
            **{client: state.models.get(client, state.values) for client in stage.clients},
            **state.models,
            **trained,
        }
        mean = torch.stack(list(models.values())).double().mean(dim=0).float()
        return replace(state, models=models, values=mean)

    def parting(self, state: ServerState, client: str, layout: ParameterLayout) -> torch.Tensor:  # noqa: ARG002
        """w_i, before any more messages."""
        return state.models.get(client, state.values)
