"""All clients in this process, one after another, on one shared model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sordino._check import fraction
from sordino.errors import SordinoError
from sordino.federated.backend import Backend
from sordino.federated.learner import Learner
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import FederatedMethod

__all__ = ["ClientFailed", "InProcess"]


class ClientFailed(SordinoError):
    """A client's code raised; the message names the client."""


@dataclass(frozen=True)
class InProcess(Backend):
    """Clients share the frozen base model; their adapters are swapped in and out.

    Args:
        learner: the model and everybody's data.
        ids: all clients, in the order in which updates are summed.
        dropout_rate: chance that a drawn client never answers, to rehearse unreliable sites.
    """

    learner: Learner
    ids: tuple[str, ...]
    dropout_rate: float = 0.0

    def __post_init__(self) -> None:
        fraction("federated.dropout_rate", self.dropout_rate, zero=True)

    def clients(self) -> Sequence[str]:
        """All ids."""
        return self.ids

    def gather(self, method: FederatedMethod, tasks: Sequence[Task]) -> Iterator[Reply]:
        """One reply after another, in the order of the tasks."""
        for task in tasks:
            if self.dropout_rate and task.seeds.at("drop-out").generator().random() < self.dropout_rate:
                continue
            try:
                yield method.client(task, self.learner)
            except SordinoError:
                raise
            except Exception as error:
                raise ClientFailed(f"client {task.client!r} failed: {type(error).__name__}: {error}") from error
