"""Federated averaging of clients that are held near the global model."""

from __future__ import annotations

from dataclasses import dataclass

from sordino._check import at_least
from sordino.config import option
from sordino.federated.messages import Task
from sordino.federated.methods.base import METHODS
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.objective import PLAIN, Objective, Proximal

__all__ = ["FedProx"]


@METHODS.register("fedprox")
@dataclass(frozen=True, slots=True)
class FedProx(FedAvg):
    """`FedAvg` of clients that are held near the global model.

    Each minimises ``loss + mu / 2 ||theta - theta_global||**2``; mu = 0 is FedAvg itself.

    Source: Li et al., Federated Optimization in Heterogeneous Networks, 2020, algorithm 2.
    """

    mu: float = option("How strongly a client is drawn to the global model while it trains.", 0.01)

    def __post_init__(self) -> None:
        FedAvg.__post_init__(self)
        at_least("federated.method.mu", self.mu, 0)

    def objective(self, task: Task) -> Objective:
        """The proximal term around the model that the client was given."""
        return Objective(proximal=(Proximal(self.mu, task.start),)) if self.mu else PLAIN
