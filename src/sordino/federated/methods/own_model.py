"""What methods share in which each client keeps a whole model of its own."""

from __future__ import annotations

from typing import ClassVar, Final

import torch

from sordino.federated.learner import Learner
from sordino.federated.memory import ClientMemory
from sordino.federated.methods.base import FederatedMethod, ServerState
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

    def personal(
        self,
        state: ServerState,
        client: str,  # noqa: ARG002
        *,
        learner: Learner,  # noqa: ARG002
        memory: ClientMemory,
        seeds: Seeds,  # noqa: ARG002
    ) -> torch.Tensor:
        """The client's own model."""
        return self.own(memory, otherwise=state.values)
