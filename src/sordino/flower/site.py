"""What a node does with an assignment: it trains its clients, clips each of them, and sends one parcel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import torch

from sordino.errors import ConfigError
from sordino.evaluation import Mark
from sordino.federated import FederatedMethod, InMemory, Learner, Memory, Reply, Task
from sordino.federated.messages import seal
from sordino.federated.work import counted
from sordino.flower.codec import Answer, Assignment, Greeting
from sordino.flower.trials import Trial, Tried
from sordino.privacy import NoiseSource, Parcel, Poisson
from sordino.privacy.intake import bounded, released
from sordino.privacy.local_noise import Noising
from sordino.privacy.sharing import Sharing

__all__ = ["Site", "Tries"]

Tries: TypeAlias = Callable[[str, torch.Tensor], tuple[Sequence[Mark], Sequence[Mark]]]
"""Errors that a client's own model, float32 [layout.size], makes in its test and development utterances."""

_NOTHING: Final = Parcel(torch.empty(0), "")


@dataclass(frozen=True, kw_only=True)
class Site:
    """A node's clients and the model that trains them, one after another.

    Formal guarantee: each client of a site moves its answer by at most C, and whether it takes part in a round is decided by
    the operating system's randomness alone, unless the experiment is a seeded simulation. The answer of a site with several
    clients holds their sum only: not how many took part, no norm and no loss.

    Where clients add the noise, bounds and noise are those that the server asks for: who distrusts it compares them with
    what the experiment promises.

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
        memory: where its clients keep what is theirs.
        tries: tries a client's own model where it is made; None where the experiment does not ask for that.
        recordings: how many its clients train on, where the server is to know.
        group: of its one client, likewise.
    """

    learner: Learner
    method: FederatedMethod
    clients: tuple[str, ...]
    noise: NoiseSource
    partition: int = -1
    partitions: int = 0
    memory: Memory = field(default_factory=InMemory)
    tries: Tries | None = None
    recordings: int = 0
    group: str = ""

    def greet(self) -> Greeting:
        """What the server is told of the node."""
        return Greeting(
            digest=self.learner.layout.digest,
            clients=len(self.clients),
            partition=self.partition,
            partitions=self.partitions,
            recordings=self.recordings,
            group=self.group,
        )

    def try_model(self, trial: Trial) -> Tried:
        """Makes the one client's own model, which stays here, and says how many errors it makes.

        Raises:
            ConfigError: several clients, or an experiment in which nobody tries models of its own.
        """
        (client,) = self._only_client()
        if self.tries is None:
            raise ConfigError("the experiment has no personal models to try; give server and nodes the same version.")
        memory = self.memory.of(client, trial.moment)
        values, work = counted(
            self.learner,
            lambda: self.method.personal(trial.given, client, learner=self.learner, memory=memory, seeds=trial.seeds),
        )
        test, development = self.tries(client, values)
        return Tried(test=test, development=development, work=work)

    def answer(self, assignment: Assignment) -> Answer:
        """Does what is asked.

        Raises:
            ConfigError: several clients, of whom the server has drawn the node as one.
        """
        task, bounding = assignment.task, assignment.task.bounding
        if assignment.rate is None:
            (client,) = self._only_client()
            return self._alone(replace(task, client=client), assignment)
        total = bounding.empty_sum()
        for client in self._drawn(assignment.rate, task):
            reply = self._reply(replace(task, client=client, seeds=task.seeds.at(client)))
            total.add(bounded(client, reply.update))
        if assignment.shared and assignment.stds is not None:
            total.add(Sharing(bounding, assignment.stds, self.noise).alone(place=task.seeds.path))
        return Answer(parcel=bounding.pack(total))

    def _alone(self, task: Task, assignment: Assignment) -> Answer:
        """What the node's one client answers, noised first where clients are to."""
        if assignment.stds is not None:
            task = replace(task, noising=self._noising(task, assignment.stds, shared=assignment.shared))
        reply, work = counted(self.learner, lambda: self._reply(task))
        if not assignment.measured:
            return Answer(parcel=self._packed(task, reply, measured=False))
        return Answer(parcel=self._packed(task, reply, measured=True), loss=reply.loss, steps=reply.steps, work=work)

    def _noising(self, task: Task, stds: tuple[float, ...], *, shared: bool) -> Noising | Sharing:
        return Sharing(task.bounding, stds, self.noise) if shared else Noising(task.bounding.clipper, stds, self.noise)

    @staticmethod
    def _packed(task: Task, reply: Reply, *, measured: bool) -> Parcel:
        if not task.sends:
            return _NOTHING
        if isinstance(task.noising, Noising):
            return task.noising.pack(released(task.client, reply.update))
        measured = measured and task.noising is None
        return task.bounding.pack(bounded(task.client, reply.update), measured=measured)

    def _reply(self, task: Task) -> Reply:
        return seal(task, self.method.client(task, self.learner, self.memory.of(task.client, task.moment)))

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
