"""A learner small enough to check by hand: each client pulls the parameters towards a point of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from sordino.federated import InProcess, LocalResult
from sordino.layout import ParameterLayout
from sordino.privacy import Update
from sordino.seeds import Seeds

LAYOUT = ParameterLayout.from_shapes(
    [
        ("encoder.layers.0.q.lora_A.weight", "encoder", (2, 4)),
        ("encoder.layers.0.q.lora_B.weight", "encoder", (4, 2)),
        ("connector.weight", "connector", (4, 4)),
        ("decoder.layers.0.q.lora_A.weight", "decoder", (2, 4)),
        ("decoder.layers.0.q.lora_B.weight", "decoder", (4, 2)),
    ]
)


@dataclass
class ToyLearner:
    """``update = rate (target - start)``, plus a little noise that depends on the seeds alone."""

    targets: Mapping[str, torch.Tensor]
    rate: float = 0.5
    jitter: float = 0.0
    layout: ParameterLayout = LAYOUT
    asked: list[str] = field(default_factory=list)

    def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds) -> LocalResult:
        self.asked.append(client)
        update = self.rate * (self.targets[client] - start)
        if self.jitter:
            noise = seeds.at("jitter").generator().normal(size=self.layout.size)
            update = update + self.jitter * torch.from_numpy(noise).float()
        return LocalResult(Update(update), loss=1.0)


def learner(num_clients: int, *, seed: int = 0, **options: float) -> ToyLearner:
    generator = Seeds(seed).at("targets").generator()
    points = generator.normal(size=(num_clients, LAYOUT.size))
    return ToyLearner({f"c{i:03d}": torch.from_numpy(point).float() for i, point in enumerate(points)}, **options)


def backend(toy: ToyLearner, **options: float) -> InProcess:
    return InProcess((toy,), tuple(sorted(toy.targets)), **options)
