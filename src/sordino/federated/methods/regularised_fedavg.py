"""Federated averaging with clients held near the global model in parameters, embeddings and outputs."""

from __future__ import annotations

from dataclasses import dataclass

from sordino._check import at_least
from sordino.config import option
from sordino.federated.messages import Task
from sordino.federated.methods.base import METHODS
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.objective import Objective, Proximal, Reference

__all__ = ["RegularisedFedAvg"]


@METHODS.register("regularised-fedavg")
@dataclass(frozen=True, slots=True)
class RegularisedFedAvg(FedAvg):
    """`FedAvg` of clients that are held near the global model in parameters, embeddings and outputs.

    Each minimises its loss ``+ a ||theta - theta_g||**2 + b ||e - e_g||**2 + c KL(p_g || p)``, where theta_g, e_g and
    p_g are parameters, embeddings and output distributions of the model that the client was given. With a = b = c = 0 it
    is FedAvg itself.

    Source: arXiv 2506.11069; the baseline of arXiv 2606.13253.
    """

    parameter_penalty: float = option("a: weight of the squared distance of the parameters.", 0.001)
    embedding_penalty: float = option("b: weight of the squared distance of an utterance's embeddings.", 0.001)
    output_penalty: float = option("c: weight of the divergence of an utterance's output distributions.", 0.01)

    def __post_init__(self) -> None:
        FedAvg.__post_init__(self)
        for name in ("parameter_penalty", "embedding_penalty", "output_penalty"):
            at_least(f"federated.method.{name}", getattr(self, name), 0)

    def objective(self, task: Task) -> Objective:
        """The three terms around the model that the client was given."""
        proximal = (Proximal(2 * self.parameter_penalty, task.start),) if self.parameter_penalty else ()
        return Objective(
            proximal=proximal, reference=Reference(task.start, self.embedding_penalty, self.output_penalty)
        )
