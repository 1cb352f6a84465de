"""A small network that is really trained: a shared layer and a personal one, on points of which each client has its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from sordino.federated import (
    METHODS,
    FederatedMethod,
    InMemory,
    InProcess,
    LocalResult,
    Memory,
    Objective,
    RoundResult,
    ServerState,
    run_rounds,
)
from sordino.federated.objective import PLAIN
from sordino.models.flat import FlatParameters, trainable
from sordino.privacy import Ledger, NoiseSource, PhasedPlan, Poisson, PrivacyOptions, Terms, Update, make_round_plan
from sordino.seeds import Seeds

Data = Mapping[str, tuple[torch.Tensor, torch.Tensor]]


class Net(nn.Module):
    """Components ``si`` and ``sd``, the second with two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.si = nn.Linear(4, 6)
        self.sd = nn.Sequential()
        self.sd.layers = nn.ModuleList([nn.Linear(6, 5)])
        self.sd.head = nn.Linear(5, 3)

    def embeddings(self, points: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.si(points))

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return self.sd.head(torch.tanh(self.sd.layers[0](self.embeddings(points))))


def net() -> tuple[Net, FlatParameters]:
    torch.manual_seed(0)
    model = Net()
    return model, FlatParameters(trainable(model))


LAYOUT = net()[1].layout


def data(num_clients: int, *, seed: int = 0) -> Data:
    """Client i has 4 to 8 points; two kinds of client label them differently."""
    made = {}
    for i in range(num_clients):
        generator = torch.Generator().manual_seed(1000 * seed + i)
        points = torch.randn(4 + 2 * (i % 3), 4, generator=generator) + i % 2
        labels = (points.sum(dim=1) > i % 2).long() + i % 2
        made[f"c{i:02d}"] = (points, labels)
    return made


@dataclass
class NetLearner:
    """Gradient descent with momentum over batches of two points, in an order of the seeds."""

    points: Data
    epochs: int = 1
    lr: float = 0.1

    penalties = frozenset({"embedding", "output"})

    def __post_init__(self) -> None:
        self.model, self.flat = net()
        self.reference, self.reference_flat = net()

    @property
    def layout(self) -> Any:
        return self.flat.layout

    @property
    def embedding_size(self) -> int:
        return 6

    def num_examples(self, client: str) -> int:
        return len(self.points[client][0])

    @torch.no_grad()
    def embed(self, client: str, values: torch.Tensor, *, fraction: float, seeds: Seeds) -> torch.Tensor:
        self.flat.load(values)
        points = self.points[client][0]
        chosen = seeds.generator().permutation(len(points))[: max(1, round(fraction * len(points)))]
        return self.model.embeddings(points[chosen]).mean(dim=0)

    def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds, objective: Objective = PLAIN) -> LocalResult:
        self.flat.load(start)
        trained = torch.ones(LAYOUT.size)
        if objective.trained is not None:
            trained = objective.trained.put(torch.ones(objective.trained.size), into=torch.zeros(LAYOUT.size))
        points, labels = self.points[client]
        momentum, loss_sum, steps = torch.zeros(LAYOUT.size), 0.0, 0
        for epoch in range(objective.epochs or self.epochs):
            order = torch.from_numpy(seeds.at("epoch", epoch).generator().permutation(len(points)))
            for part in order.split(2):
                self.flat.zero_gradient()
                loss = F.cross_entropy(self.model(points[part]), labels[part])
                (loss + self._drift(points[part], objective)).backward()
                for penalty in objective.proximal:
                    penalty.add_gradient(self.flat.values, into=self.flat.gradient)
                momentum = 0.5 * momentum + self.flat.gradient * trained
                self.flat.values.sub_(self.lr * momentum)
                loss_sum, steps = loss_sum + float(loss.detach()), steps + 1
        return LocalResult(Update(self.flat.values - start), loss_sum / steps, steps)

    def _drift(self, points: torch.Tensor, objective: Objective) -> torch.Tensor:
        reference = objective.reference
        if reference is None:
            return torch.zeros(())
        self.reference_flat.load(reference.values)
        with torch.no_grad():
            heard, said = self.reference.embeddings(points), self.reference(points).softmax(dim=-1)
        distance = (self.model.embeddings(points) - heard).square().sum(dim=1).mean()
        divergence = F.kl_div(self.model(points).log_softmax(dim=-1), said, reduction="batchmean")
        return reference.embedding * distance + reference.output * divergence


def initial() -> ServerState:
    return ServerState(0, net()[1].snapshot())


def method(name: str, **options: Any) -> FederatedMethod:
    made = METHODS.get(name)(**options)
    assert isinstance(made, FederatedMethod)
    return made


def plan_of(chosen: FederatedMethod, *, clients: int, rate: float = 1.0, rounds: int = 3, **privacy: Any) -> PhasedPlan:
    return make_round_plan(
        PrivacyOptions(**{"mechanism": "none", "noise_multiplier": 1.0, **privacy}),
        phases=chosen.phases(LAYOUT, embedding_size=6),
        layout=LAYOUT,
        cohort=Poisson(rate=rate),
        rounds=rounds,
        terms=Terms(unit="client", population=clients, clients_per_speaker=1, delta=1e-5, seeded=True),
    )


def terms_of(points: Data) -> Terms:
    """Of a seeded simulation."""
    return Terms(unit="client", population=len(points), clients_per_speaker=1, delta=1e-5, seeded=True)


def run(
    folder: Any,
    chosen: FederatedMethod,
    points: Data,
    *,
    rounds: int = 3,
    rate: float = 1.0,
    learners: int = 1,
    state: ServerState | None = None,
    plan: Any = None,
    memory: Memory | None = None,
    **privacy: Any,
) -> list[RoundResult[Any]]:
    """All rounds of a seeded simulation."""
    folder.mkdir(exist_ok=True)
    plan = plan or plan_of(chosen, clients=len(points), rate=rate, **privacy)
    backend = InProcess(tuple(NetLearner(points) for _ in range(learners)), tuple(points), memory=memory or InMemory())
    with Ledger(folder / "ledger.jsonl", terms=terms_of(points)) as ledger:
        return list(
            run_rounds(
                state or initial(),
                plan,
                rounds=rounds,
                method=chosen,
                backend=backend,
                ledger=ledger,
                noise=NoiseSource(Seeds(5)),
                seeds=Seeds(1),
            )
        )


def personal(chosen: FederatedMethod, state: ServerState, client: str, points: Data, memory: Memory) -> torch.Tensor:
    """The model that a client uses after the last round."""
    own = memory.of(client, (state.round + 1, 0))
    given = chosen.parting(state, client, LAYOUT)
    return chosen.personal(given, client, learner=NetLearner(points), memory=own, seeds=Seeds(9))
