"""Where clients run: in this process, or behind a network. The round loop sees only this."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import FederatedMethod

__all__ = ["Backend"]


class Backend(ABC):
    """A set of clients that can be given tasks."""

    @abstractmethod
    def clients(self) -> Sequence[str]:
        """Ids of the clients that are available, in a fixed order."""

    @abstractmethod
    def gather(self, method: FederatedMethod, tasks: Sequence[Task]) -> Iterator[Reply]:
        """Runs the method's client half for each task and yields replies as they come.

        A client that drops out yields nothing. Replies are streamed, so that memory does not grow with the cohort.
        """
