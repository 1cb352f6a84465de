"""What a node does with an assignment: it trains its clients, clips each of them, and sends one parcel."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.errors import ConfigError
from sordino.federated import FederatedMethod, Learner, Task
from sordino.flower.codec import Answer, Assignment, Greeting
from sordino.privacy import NoiseSource, Poisson

__all__ = ["Site"]


@dataclass(frozen=True, kw_only=True)
class Site:
    """A node's clients and the model that trains them, one after another.

    Formal guarantee: each client of a site moves its answer by at most C, and whether it takes part in a round is decided by
    the operating system's randomness alone, unless the experiment is a seeded simulation. The answer of a site with several
    clients holds their sum only: not how many took part, no norm and no loss.

    | clients | the server has drawn | the node draws |
    |---|---|---|
    | one | its clipped update | that, or zeros |
    | several | refused: they would count as one | the sum of the clipped updates of those drawn, or zeros |

    Args:
        learner: the model, with these clients' recordings.
        method: the algorithm's client half.
        clients: their names, which never leave the node.
        noise: decides who takes part.
        partition: in a simulation, the part of the data that this is.
        partitions: in a simulation, the number of parts.
    """

    learner: Learner
    method: FederatedMethod
    clients: tuple[str, ...]
    noise: NoiseSource
    partition: int = -1
    partitions: int = 0

    def greet(self) -> Greeting:
        """What the server is told of the node."""
        return Greeting(
            digest=self.learner.layout.digest,
            clients=len(self.clients),
            partition=self.partition,
            partitions=self.partitions,
        )

    def answer(self, assignment: Assignment) -> Answer:
        """Does what is asked.

        Raises:
            ConfigError: several clients, of whom the server has drawn the node as one.
        """
        task, bounding = assignment.task, assignment.task.bounding
        if assignment.rate is None:
            (client,) = self._only_client()
            reply = self.method.client(Task(client, task.start, bounding, task.seeds), self.learner)
            parcel = bounding.pack(reply.update, measured=assignment.measured)
            return Answer(parcel=parcel, loss=reply.loss if assignment.measured else None)
        total = bounding.empty_sum()
        for client in self._drawn(assignment.rate, task):
            seeds = task.seeds.at(client)
            total.add(self.method.client(Task(client, task.start, bounding, seeds), self.learner).update)
        return Answer(parcel=bounding.pack(total))

    def _drawn(self, rate: float, task: Task) -> tuple[str, ...]:
        stream = self.noise.stream("cohort", *task.seeds.path)
        return Poisson(rate=rate).draw(self.clients, population=len(self.clients), stream=stream)

    def _only_client(self) -> tuple[str, ...]:
        if len(self.clients) != 1:
            raise ConfigError(
                f"this node has {len(self.clients)} clients, and the server draws nodes: expected 1, since they would be "
                "clipped as one; start the run with --draw-at-nodes."
            )
        return self.clients
