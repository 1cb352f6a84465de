"""Rounds whose training costs next to nothing, so that what remains is the federation itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from sordino.federated import InProcess, LocalResult, RoundResult, ServerState, run_rounds
from sordino.federated.methods.fedavg import FedAvg
from sordino.layout import ParameterLayout
from sordino.privacy import Ledger, NoiseSource, Poisson, PrivacyPlan, Terms, Update
from sordino.privacy.allocations.uniform import Uniform
from sordino.seeds import Seeds

__all__ = ["Nudge", "layout", "rounds_of"]


def layout(size: int, *, tensors: int = 32) -> ParameterLayout:
    """``tensors`` tensors of about the same size."""
    cuts = [index * size // tensors for index in range(tensors + 1)]
    return ParameterLayout.from_shapes(
        (f"decoder.{index}", "decoder", (cuts[index + 1] - cuts[index],)) for index in range(tensors)
    )


@dataclass
class Nudge:
    """A learner that copies the adapter in, adds the same numbers for everybody, and subtracts again."""

    layout: ParameterLayout
    flat: torch.Tensor = field(init=False)
    nudge: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.flat = torch.zeros(self.layout.size)
        self.nudge = torch.full((self.layout.size,), 0.01)

    def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds) -> LocalResult:  # noqa: ARG002
        """Stands for training."""
        self.flat.copy_(start)
        self.flat.add_(self.nudge)
        return LocalResult(Update(self.flat - start), loss=0.0)


@contextmanager
def rounds_of(
    learner: Nudge, *, population: int, rate: float, rounds: int, noise: float = 1.0, blocks: bool = False
) -> Iterator[Iterator[RoundResult]]:
    """The rounds of a run, with a ledger in a folder of its own; each is done when it is asked for."""
    allocation = {"allocation": Uniform()} if blocks else {}
    plan = PrivacyPlan(learner.layout, Poisson(rate=rate), population, noise_multiplier=noise, **allocation)
    terms = Terms(unit="client", population=population, clients_per_speaker=1, delta=1e-6)
    with TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.jsonl", terms=terms) as ledger:
        yield run_rounds(
            ServerState(0, torch.zeros(learner.layout.size)),
            plan,
            rounds=rounds,
            method=FedAvg(),
            backend=InProcess((learner,), tuple(f"c{index:07d}" for index in range(population))),
            ledger=ledger,
            noise=NoiseSource(),
            seeds=Seeds(0),
        )
