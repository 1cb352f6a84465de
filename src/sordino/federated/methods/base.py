"""What every federated method shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from sordino._registry import Registry
from sordino.federated.learner import Learner
from sordino.federated.messages import Reply, Task
from sordino.privacy import Released

__all__ = ["METHODS", "FederatedMethod", "ServerState"]

METHODS: Registry[Any] = Registry("federated method", package="sordino.federated.methods")
"""All federated methods by name, the values of ``federated.method``."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """What the server carries from round to round.

    Attributes:
        round: number of rounds done.
        values: the global adapter, float32 [layout.size].
    """

    round: int
    values: torch.Tensor


class FederatedMethod(ABC):
    """One algorithm: what a client does with a task, and what the server does with a release.

    Its server half sees `Released` values only, so it cannot read a single client's update.
    """

    name: ClassVar[str]

    @abstractmethod
    def client(self, task: Task, learner: Learner) -> Reply:
        """Client half: local training, then clipping."""

    @abstractmethod
    def combine(self, state: ServerState, released: Released) -> ServerState:
        """Server half: the state after a round."""
