"""All clients in this process: one after another on one model, or side by side on several copies of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from sordino._check import fraction
from sordino.errors import ConfigError, SordinoError
from sordino.federated.backend import Backend
from sordino.federated.learner import Learner
from sordino.federated.memory import InMemory, Memory
from sordino.federated.messages import Reply, Task, seal
from sordino.federated.methods.base import FederatedMethod
from sordino.models.side_by_side import side_by_side

__all__ = ["ClientFailed", "InProcess"]


class ClientFailed(SordinoError):
    """A client's code raised; the message names the client."""


@dataclass(frozen=True)
class InProcess(Backend):
    """Clients share the frozen base model; their adapters are swapped in and out.

    Replies come in the order of the tasks however many learners there are, so the sum is the same to the bit.

    Args:
        learners: copies of the model with everybody's data; each trains one client at a time, on one thread where
            there are several.
        ids: all clients, in the order in which updates are summed.
        dropout_rate: chance that a drawn client never answers, to rehearse unreliable sites.
        memory: where clients keep what is theirs.

    Raises:
        ConfigError: no learner.
    """

    learners: tuple[Learner, ...]
    ids: tuple[str, ...]
    dropout_rate: float = 0.0
    memory: Memory = field(default_factory=InMemory)

    def __post_init__(self) -> None:
        fraction("federated.dropout_rate", self.dropout_rate, zero=True)
        if not self.learners:
            raise ConfigError("a backend has 0 learners: expected at least 1; give it a model.")

    def clients(self) -> Sequence[str]:
        """All ids."""
        return self.ids

    def gather(self, method: FederatedMethod, tasks: Sequence[Task]) -> Iterator[Reply]:
        """One reply after another; at most one per learner is under way or waiting."""
        answering = (task for task in tasks if not task.drops_out(self.dropout_rate))
        yield from side_by_side(self.learners, answering, partial(_reply, method, self.memory))


def _reply(method: FederatedMethod, memory: Memory, learner: Learner, task: Task) -> Reply:
    try:
        return seal(task, method.client(task, learner, memory.of(task.client, task.moment)))
    except SordinoError:
        raise
    except Exception as error:
        raise ClientFailed(f"client {task.client!r} failed: {type(error).__name__}: {error}") from error
