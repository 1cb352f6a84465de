"""What a federated method needs of a model: one flat vector, and a way to train it on one client's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from sordino.errors import ConfigError
from sordino.federated.messages import Task
from sordino.federated.objective import PLAIN, Objective
from sordino.layout import ParameterLayout
from sordino.privacy import Update
from sordino.seeds import Seeds

__all__ = ["Counts", "Embeds", "Learner", "LocalResult", "require_counts", "require_embeddings", "train"]


@dataclass(frozen=True, slots=True)
class LocalResult:
    """Outcome of a client's local training.

    Attributes:
        update: parameters after minus before, of the whole layout.
        loss: mean training loss, penalties left out; private.
        steps: optimiser steps that were taken; private where clients differ in how much they say.
    """

    update: Update
    loss: float
    steps: int = 0


class Learner(Protocol):
    """A model that can be trained on the data of any client it is given the id of.

    A learner may do more, and says so: ``penalties: frozenset[str]`` names the penalties of `Reference` that its `fit`
    honours (none where it is missing); `Embeds` and `Counts` are protocols of their own.
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


@runtime_checkable
class Counts(Protocol):
    """A learner that knows how much a client has said."""

    def num_examples(self, client: str) -> int:
        """How many utterances the client trains on."""
        ...


def require_counts(learner: Learner, *, method: str) -> Counts:
    """The learner as one that counts; raises ConfigError if it does not."""
    if not isinstance(learner, Counts):
        raise ConfigError(
            f'federated.method = {method!r} with weights = "examples": expected a model that tells how many utterances a '
            f'client has, and {type(learner).__name__} does not; set weights = "uniform".'
        )
    return learner


def require_embeddings(learner: Learner, *, method: str) -> Embeds:
    """The learner as one that embeds; raises ConfigError if it does not."""
    if not isinstance(learner, Embeds):
        raise ConfigError(
            f"federated.method = {method!r} compares speakers by embeddings: expected a model that gives them, and "
            f'{type(learner).__name__} does not; choose method = "parameter-similarity" or another model.'
        )
    return learner


def train(learner: Learner, task: Task, objective: Objective = PLAIN, *, seeds: Seeds | None = None) -> LocalResult:
    """One call of `Learner.fit` from the task's start.

    Raises:
        ConfigError: a penalty that the learner does not know.
    """
    known: frozenset[str] = getattr(learner, "penalties", frozenset())
    for name in objective.reference.asked if objective.reference else ():
        if name not in known:
            raise ConfigError(
                f"federated.method.{name}_penalty: expected 0, since {type(learner).__name__} does not compute it; set "
                f"federated.method.{name}_penalty = 0."
            )
    seeds = task.seeds if seeds is None else seeds
    if objective is PLAIN:
        return learner.fit(task.client, task.start, seeds=seeds)
    return learner.fit(task.client, task.start, seeds=seeds, objective=objective)
