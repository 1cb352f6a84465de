"""What methods share in which each client keeps a whole model of its own."""

from __future__ import annotations

from typing import ClassVar, Final

import torch

from sordino.federated.learner import Learner
from sordino.federated.memory import ClientMemory
from sordino.federated.methods.base import FederatedMethod, ServerState
from sordino.federated.objective import PLAIN, Objective
from sordino.privacy import PhasedPlan
from sordino.seeds import Seeds

__all__ = ["OwnModel"]

_MODEL: Final = "model"


class OwnModel(FederatedMethod):
    """A method after which a client uses a model that only it has; before its first round, the global one."""

    __slots__ = ()

    personal_models: ClassVar[bool] = True

    @staticmethod
    def own(memory: ClientMemory, *, otherwise: torch.Tensor) -> torch.Tensor:
        """What the client kept; ``otherwise`` if it has kept none yet.

        Shape:
            otherwise, returns: float32 [layout.size]
        """
        return memory.recall(_MODEL, otherwise)

    @staticmethod
    def keep_own(memory: ClientMemory, values: torch.Tensor) -> None:
        """Keeps a model, float32 [layout.size], until the next."""
        memory.keep(**{_MODEL: values})

    def held(self, anchor: torch.Tensor) -> Objective:  # noqa: ARG002
        """What a client's own model aims at besides its loss, around the global one, float32 [layout.size]."""
        return PLAIN

    def newcomer(
        self,
        state: ServerState,
        client: str,
        *,
        learner: Learner,
        plan: PhasedPlan,  # noqa: ARG002
        seeds: Seeds,
    ) -> torch.Tensor:
        """A model of its own, trained from the global one as everybody's is."""
        result = learner.fit(client, state.values, seeds=seeds, objective=self.held(state.values))
        return state.values + result.update.values

    def personal(
        self,
        given: torch.Tensor,
        client: str,  # noqa: ARG002
        *,
        learner: Learner,  # noqa: ARG002
        memory: ClientMemory,
        seeds: Seeds,  # noqa: ARG002
    ) -> torch.Tensor:
        """The client's own model."""
        return self.own(memory, otherwise=given)
