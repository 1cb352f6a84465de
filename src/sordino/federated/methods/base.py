"""What every federated method shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import torch

from sordino._registry import Registry
from sordino.errors import ConfigError
from sordino.federated.learner import Learner
from sordino.federated.memory import ClientMemory, InMemory
from sordino.federated.messages import Reply, Task
from sordino.layout import ParameterLayout
from sordino.privacy import Mixing, Phase, PhasedPlan, Reads, Released
from sordino.seeds import Seeds

__all__ = ["KEY", "METHODS", "FederatedMethod", "ServerState", "Stage"]

KEY: Final = "federated.method"
"""Where an experiment with one method has it; an experiment with several has each under a key of its own."""

METHODS: Registry[Any] = Registry("federated method", package="sordino.federated.methods")
"""All federated methods by name, the values of `KEY`."""

_HOOKS: Final[Mapping[Reads, tuple[str, ...]]] = {
    Reads.NOTHING: (),
    Reads.SUM: ("combine",),
    Reads.MIX: ("mixing", "combine_each"),
    Reads.EACH: ("combine_each",),
}


@dataclass(frozen=True, slots=True)
class ServerState:
    """What the server carries from round to round: released values, all of it.

    Attributes:
        round: number of rounds done.
        values: the global model, float32 [layout.size].
        models: what the server holds for single clients, by their ids: a part of a model, float32 [size of that part].
        embeddings: how single clients sound, as they released it, float32 [embedding_size].
        counts: how much single clients have recorded, as they released it, float32 [1].
    """

    round: int
    values: torch.Tensor
    models: Mapping[str, torch.Tensor] = field(default_factory=dict)
    embeddings: Mapping[str, torch.Tensor] = field(default_factory=dict)
    counts: Mapping[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a round stands when the server's half is called.

    Attributes:
        phase: the phase's name.
        layout: the model's.
        clients: everybody who is there, in a fixed order, drawn or not.
        expected_cohort: n, by which sums are divided.
    """

    phase: str
    layout: ParameterLayout
    clients: Sequence[str]
    expected_cohort: float


class FederatedMethod(ABC):
    """One algorithm: the phases of a round, what a client does in each, and what the server does with what is released.

    Subclasses are frozen dataclasses whose fields are the options. The server half sees `Released` values only, so it cannot
    read a client's update that was not paid for. Of the server's hooks a method needs those that its phases read:

    | a phase reads | hooks |
    |---|---|
    | NOTHING | none |
    | SUM | `combine` |
    | MIX | `mixing`, `combine_each` |
    | EACH | `combine_each` |
    """

    name: ClassVar[str]

    personal_models: ClassVar[bool] = True
    """Whether clients end up with models of their own, so that ``ServerState.values`` is not the model that they use."""

    def phases(self, layout: ParameterLayout, *, embedding_size: int | None = None) -> tuple[Phase, ...]:  # noqa: ARG002
        """The phases of a round; one in which updates of everything are added up, unless a method says otherwise.

        Args:
            layout: the model's.
            embedding_size: length of the model's embedding of a speaker; None if it gives none.

        Raises:
            ConfigError: options that do not fit the layout.
        """
        return (Phase("train", layout),)

    def require_hooks(self, phases: Iterable[Phase]) -> None:
        """Raises ConfigError if a phase reads what the method has no hook for: before anybody works for nothing."""
        for phase in phases:
            for hook in _HOOKS[phase.reads]:
                if getattr(type(self), hook) is getattr(FederatedMethod, hook):
                    raise self._lacks(hook, phase.name)

    def _lacks(self, hook: str, phase: str) -> ConfigError:
        return ConfigError(
            f"{type(self).__name__} has a phase {phase!r} and no {hook}: expected the server's half of what the phase "
            f"reads; write {hook}, or let the phase read something else."
        )

    @abstractmethod
    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:
        """Client half: what the client does in the phase ``task.phase``, up to clipping with ``task.bounding``.

        Args:
            task: what is asked.
            learner: trains on the client's data.
            memory: what this client kept; nobody else sees it.
        """

    def start(self, state: ServerState, client: str, layout: ParameterLayout) -> torch.Tensor:  # noqa: ARG002
        """The model that a client is given, float32 [layout.size]: the global one unless a method says otherwise."""
        return state.values

    def combine(self, state: ServerState, released: Released, stage: Stage) -> ServerState:  # noqa: ARG002
        """Server half of a phase that reads the sum. The loop counts the round."""
        raise self._lacks("combine", stage.phase)

    def combine_each(self, state: ServerState, released: Mapping[str, Released], stage: Stage) -> ServerState:  # noqa: ARG002
        """Server half of a phase that reads mixtures or single uploads.

        Args:
            state: where the last phase ended.
            released: by client: its mixture; or its own upload, if it sent one.
            stage: where the round stands.
        """
        raise self._lacks("combine_each", stage.phase)

    def mixing(self, state: ServerState, stage: Stage) -> Mixing:  # noqa: ARG002
        """Weights of a phase that reads mixtures, from released values alone and before anything of the phase is seen."""
        raise self._lacks("mixing", stage.phase)

    def parting(self, state: ServerState, client: str, layout: ParameterLayout) -> torch.Tensor:
        """What a client is given in the end to make its own model of, float32 [layout.size]; see `personal`.

        It is what `start` gives unless a method says otherwise.
        """
        return self.start(state, client, layout)

    def personal(
        self,
        given: torch.Tensor,
        client: str,  # noqa: ARG002
        *,
        learner: Learner,  # noqa: ARG002
        memory: ClientMemory,  # noqa: ARG002
        seeds: Seeds,  # noqa: ARG002
    ) -> torch.Tensor:
        """The model that a client uses, float32 [layout.size]. It is made at the client and stays there.

        Args:
            given: by the server's `parting`, float32 [layout.size].
            client: whose.
            learner: for methods that adapt what is given to the client.
            memory: what the client kept.
            seeds: of that adaptation.
        """
        return given

    def newcomer(
        self,
        state: ServerState,
        client: str,
        *,
        learner: Learner,
        plan: PhasedPlan,  # noqa: ARG002
        seeds: Seeds,
    ) -> torch.Tensor:
        """A model for somebody who never trained, from a few recordings of its own: float32 [layout.size].

        It is made at the client, and nothing is sent. Unless a method says otherwise, it is what anybody uses who was never
        drawn. Who has no recordings either has what `start` gives.

        Args:
            state: the server's.
            client: who is new.
            learner: has the few recordings.
            plan: of the rounds, whose bounds what the others released was clipped to.
            seeds: of an adaptation.
        """
        given, nothing = self.parting(state, client, learner.layout), InMemory().of(client, (state.round + 1, 0))
        return self.personal(given, client, learner=learner, memory=nothing, seeds=seeds)

    def cold_start(self, state: ServerState, embedding: torch.Tensor, layout: ParameterLayout) -> torch.Tensor:  # noqa: ARG002
        """A model for somebody who never trained, from how they sound and without any training: float32 [layout.size].

        Raises:
            ConfigError: the method has nothing to go by.
        """
        raise ConfigError(
            f"federated.method = {self.name!r} has no model for a new speaker's embedding: expected a method that compares "
            'embeddings; use "embedding-similarity" or "combined-similarity".'
        )
