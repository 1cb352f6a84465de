"""Where a comparison takes place: what its methods have in common, wherever the speakers are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from sordino.experiments.personalised.equipment import Equipment
from sordino.experiments.personalised.hiding import Hiding
from sordino.experiments.personalised.outcome import Heard, Outcome
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated import Backend, FederatedMethod, ServerState
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.work import Work
from sordino.models.ctc import Recogniser
from sordino.seeds import Seeds

__all__ = ["Party", "Venue"]


class Party(ABC):
    """The speakers as one method meets them: they know nothing of any other."""

    @property
    @abstractmethod
    def backend(self) -> Backend:
        """They train in its rounds."""

    @abstractmethod
    def hear(self, state: ServerState, *, seeds: Seeds) -> tuple[Heard, Work]:
        """Lets each one's own model try that speaker's held-out utterances.

        Args:
            state: the server's, after the last round.
            seeds: of what makes the models.

        Returns:
            The errors, and what all training took, that of the last models included.
        """


@dataclass(frozen=True, kw_only=True)
class Venue(ABC):
    """Everything that the methods have in common under one seed.

    Attributes:
        equipment: the recogniser as this process has it.
        start: the parameters that every method starts from, float32 [layout.size].
    """

    equipment: Equipment
    start: torch.Tensor

    @property
    def options(self) -> PersonalisedExperiment:
        """The experiment."""
        return self.equipment.options

    @property
    def model(self) -> Recogniser:
        """The recogniser."""
        return self.equipment.model

    @property
    def seeds(self) -> Seeds:
        """Root of everything that the seed fixes."""
        return self.equipment.seeds

    @property
    @abstractmethod
    def groups(self) -> Mapping[str, str]:
        """The clients in a fixed order, each with its group, which is empty where unknown."""

    @property
    @abstractmethod
    def recordings(self) -> int:
        """How many utterances all clients together train on."""

    @property
    def new_groups(self) -> Mapping[str, str]:
        """Speakers who never train, each with the group."""
        return {}

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the guarantee does not cover because of where the speakers are, in words."""
        return ()

    @abstractmethod
    def party(self, name: str, method: FederatedMethod, *, hiding: Hiding | None = None) -> Party:
        """The clients, for one method.

        Args:
            name: as the method is called in the experiment.
            method: the method.
            hiding: how their steps hide single recordings, if they do.

        Raises:
            BudgetExhausted: the steps have to be charged ahead, and the budget does not cover them.
        """

    def with_new(self, outcome: Outcome, welcomed: Callable[[str, CtcLearner], torch.Tensor]) -> Outcome:  # noqa: ARG002
        """The outcome with what new speakers' models got wrong; as it is where nobody is new.

        Args:
            outcome: of the clients.
            welcomed: makes the model of a new speaker, float32 [layout.size].
        """
        return outcome
