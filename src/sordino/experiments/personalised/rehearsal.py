"""How much training a round of a method is made of, found out by going through one in which nothing is trained.

Methods differ in what a round costs: some train twice in it, some train again whenever a model is used. At equal compute
they get as many rounds as their passes pay for.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import torch

from sordino.errors import ConfigError
from sordino.federated import FederatedMethod, InProcess, ServerState, run_round
from sordino.federated.learner import LocalResult
from sordino.federated.objective import PLAIN, Objective
from sordino.layout import ParameterLayout
from sordino.privacy import Ledger, NoiseSource, Poisson, PrivacyOptions, Terms, Update, make_round_plan
from sordino.seeds import Seeds

__all__ = ["Price", "price_of"]

_SEEDS = Seeds(0).at("rehearsal")
_TERMS = Terms(unit="client", population=1, clients_per_speaker=1, delta=1e-5, seeded=True)
_CLIENT = "somebody"


@dataclass(frozen=True, slots=True)
class Price:
    """Passes over a client's utterances.

    Attributes:
        round: that a round takes for a client who is drawn.
        use: that a client's model takes each time it is made.
    """

    round: int
    use: int

    def rounds(self, passes: int, *, name: str) -> int:
        """How many rounds these passes pay for.

        Raises:
            ConfigError: none.
        """
        affordable = (passes - self.use) // self.round if self.round else passes
        if affordable < 1:
            raise ConfigError(
                f"federated.passes = {passes}: methods.{name} takes {self.round} a round and {self.use} when its models are "
                f"made, expected at least {self.round + self.use}; raise federated.passes, or lower the method's epochs."
            )
        return affordable


@dataclass
class _Rehearsing:
    """Trains nothing and counts what it was asked for."""

    penalties: ClassVar[frozenset[str]] = frozenset({"embedding", "output"})

    layout: ParameterLayout
    embedding_size: int
    epochs: int
    passes: int = 0

    def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds, objective: Objective = PLAIN) -> LocalResult:  # noqa: ARG002
        self.passes += objective.epochs or self.epochs
        return LocalResult(Update(torch.zeros_like(start)), 0.0, 1)

    def embed(self, client: str, values: torch.Tensor, *, fraction: float, seeds: Seeds) -> torch.Tensor:  # noqa: ARG002
        return torch.zeros(self.embedding_size)

    def num_examples(self, client: str) -> int:  # noqa: ARG002
        return 1


def price_of(method: FederatedMethod, *, layout: ParameterLayout, embedding_size: int, epochs: int) -> Price:
    """What a method costs, for a client who is drawn.

    Args:
        method: the method.
        layout: of the model.
        embedding_size: of the model's embeddings.
        epochs: passes of a call of `Learner.fit` that says nothing else.
    """
    learner = _Rehearsing(layout, embedding_size, epochs)
    plan = make_round_plan(
        PrivacyOptions(mechanism="none"),
        phases=method.phases(layout, embedding_size=embedding_size),
        layout=layout,
        cohort=Poisson(rate=1.0),
        rounds=1,
        terms=_TERMS,
    )
    backend = InProcess((learner,), (_CLIENT,))
    with TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.jsonl", terms=_TERMS) as ledger:
        begun = ServerState(0, torch.zeros(layout.size))
        done = run_round(
            begun, plan, method=method, backend=backend, ledger=ledger, noise=NoiseSource(_SEEDS), seeds=_SEEDS
        )
    of_round, learner.passes = learner.passes, 0
    given, memory = method.parting(done.state, _CLIENT, layout), backend.memory.of(_CLIENT, (2, 0))
    method.personal(given, _CLIENT, learner=learner, memory=memory, seeds=_SEEDS)
    return Price(of_round, learner.passes)
