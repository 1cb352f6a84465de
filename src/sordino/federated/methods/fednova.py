"""Federated averaging of updates for each local step, so that who trains longer does not pull harder."""

from __future__ import annotations

from dataclasses import dataclass

from sordino._check import positive
from sordino.config import option
from sordino.errors import ConfigError
from sordino.federated.learner import Learner, train
from sordino.federated.memory import ClientMemory
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import METHODS
from sordino.federated.methods.fedavg import FedAvg
from sordino.privacy import Update

__all__ = ["FedNova"]


@METHODS.register("fednova")
@dataclass(frozen=True, slots=True)
class FedNova(FedAvg):
    """`FedAvg` of updates by local step, so that who trains longer does not pull harder.

    Each client sends ``(tau_eff / tau_i) (theta_i - theta)``, where tau_i is the number of its local steps.

    In the source the server takes ``tau_eff = sum_i p_i tau_i``, a mean over the clients' own step counts, which says how
    much they have recorded: under privacy that would be one more release. Here tau_eff is an option, a public constant like
    C, and multiplies before clipping, so the bound and the noise are those of any update. Clients weigh the same, and local
    steps count the same, though the learning rate falls within each training.

    Source: Wang et al., Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization, 2020,
    equation 7, with equal p_i.
    """

    tau_eff: float = option("Local steps that a round shall count as: about those of an ordinary client.", 10.0)

    def __post_init__(self) -> None:
        FedAvg.__post_init__(self)
        positive("federated.method.tau_eff", self.tau_eff)

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:  # noqa: ARG002
        """Trains from the global model, scales what changed to tau_eff steps and clips that."""
        result = train(learner, task)
        if result.steps < 1:
            raise ConfigError(
                f"federated.method = {self.name!r} divides by local steps: expected a model that tells how many it "
                f'took, and {type(learner).__name__} does not; set federated.method = "fedavg".'
            )
        scaled = Update(result.update.values * (self.tau_eff / result.steps))
        return Reply(task.client, task.bounding.clip(scaled), result.loss, result.steps)
