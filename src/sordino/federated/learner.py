"""What a federated method needs of a model: one flat vector, and a way to train it on one client's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from sordino.errors import ConfigError
from sordino.federated.objective import PLAIN, Objective
from sordino.layout import ParameterLayout
from sordino.privacy import Update
from sordino.seeds import Seeds

__all__ = ["Embeds", "Learner", "LocalResult", "require_embeddings", "require_penalties"]


@dataclass(frozen=True, slots=True)
class LocalResult:
    """Outcome of a client's local training.

    Attributes:
        update: parameters after minus before, of the whole layout.
        loss: mean training loss, penalties left out; private.
        steps: optimiser steps that were taken; private where clients differ in how much they say.
        examples: utterances that the client has; private.
    """

    update: Update
    loss: float
    steps: int = 0
    examples: int = 0


class Learner(Protocol):
    """A model that can be trained on the data of any client it is given the id of.

    A learner may say that it does more. ``penalties: frozenset[str]`` names the penalties of `Reference` that its `fit`
    honours, none where it is missing; and `Embeds` is a protocol of its own.
    """

    @property
    def layout(self) -> ParameterLayout:
        """Where the trainable tensors lie in the flat vector."""
        ...

    def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds, objective: Objective = PLAIN) -> LocalResult:
        """Trains from ``start`` (float32 [layout.size], unchanged) on the client's own data.

        The same start, seeds and objective give the same update to the bit, whoever was trained before.
        """
        ...


@runtime_checkable
class Embeds(Protocol):
    """A learner that can say in one vector how a client sounds to a model."""

    @property
    def embedding_size(self) -> int:
        """Length of the vector."""
        ...

    def embed(self, client: str, values: torch.Tensor, *, fraction: float, seeds: Seeds) -> torch.Tensor:
        """Mean, over a fresh random share of the client's utterances, of the time-mean of the shared part's output.

        Args:
            client: whose utterances.
            values: the model, float32 [layout.size].
            fraction: share of the utterances, at least one of them.
            seeds: choose them.

        Returns:
            float32 [embedding_size]
        """
        ...


def require_embeddings(learner: Learner, *, method: str) -> Embeds:
    """The learner as one that embeds; raises ConfigError if it does not."""
    if not isinstance(learner, Embeds):
        raise ConfigError(
            f"federated.method = {method!r} compares speakers by embeddings: expected a model that gives them, and "
            f'{type(learner).__name__} does not; choose method = "parameter-similarity" or another model.'
        )
    return learner


def require_penalties(learner: Learner, objective: Objective, *, method: str) -> None:
    """Raises ConfigError if the objective asks for a penalty that the learner does not know."""
    known: frozenset[str] = getattr(learner, "penalties", frozenset())
    for name in objective.reference.asked if objective.reference else ():
        if name not in known:
            raise ConfigError(
                f"federated.method.{name}_penalty of {method!r}: expected 0, since {type(learner).__name__} does not "
                f"compute it; set {name}_penalty = 0."
            )
