"""Local training of an emotion network on one client's clips."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import torch

from sordino.federated.learner import LocalResult
from sordino.federated.objective import PLAIN, Objective
from sordino.federated.options import LocalOptions
from sordino.layout import ParameterLayout
from sordino.models.emotion import Clips, EmotionNetwork
from sordino.models.emotion.network import objective as loss_of
from sordino.models.flat import FlatParameters
from sordino.privacy import Update
from sordino.seeds import Seeds

__all__ = ["EmotionLearner"]


@dataclass(frozen=True, eq=False)
class EmotionLearner:
    """One network shared by all clients of this process, and everybody's clips. Each modality is a component.

    Args:
        network: its parameters are moved into one flat vector.
        clients: each client's clips.
        options: how a client trains; ``encoder_lr_multiplier`` and ``micro_batch_size`` mean nothing here.
        absence_rate: chance that a clip lacks one of its modalities in a step, so that each learns to stand alone.
    """

    network: EmotionNetwork
    clients: Mapping[str, Clips]
    options: LocalOptions
    absence_rate: float = 0.5
    flat: FlatParameters = field(init=False)

    def __post_init__(self) -> None:
        tensors = [(name, name.split(".")[1], tensor) for name, tensor in self.network.named_parameters()]
        object.__setattr__(self, "flat", FlatParameters(tensors))

    @property
    def layout(self) -> ParameterLayout:
        """The network's layout."""
        return self.flat.layout

    def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds, objective: Objective = PLAIN) -> LocalResult:
        """AdamW from ``start`` over the client's clips; a new optimiser each time, so clients never mix.

        Of an objective it knows the part and the penalties on parameters. Spectral bounds of branches hold after each step.

        Shape:
            start: float32 [layout.size], unchanged
        """
        self.flat.load(start)
        slices = objective.trained.slices if objective.trained else ((0, self.layout.size),)
        leaves = [torch.nn.Parameter(self.flat.values[first:last]) for first, last in slices]
        optimizer = torch.optim.AdamW(leaves, lr=self.options.lr, weight_decay=self.options.weight_decay, fused=True)
        batches = list(self._batches(client, seeds, epochs=objective.epochs or self.options.epochs))
        losses = 0.0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seeds.at("dropout of units").integer())
            self.network.train()
            for step, batch in enumerate(batches):
                optimizer.param_groups[0]["lr"] = self.options.lr * 0.5 * (1 + math.cos(math.pi * step / len(batches)))
                self.flat.zero_gradient()
                loss = loss_of(self.network(batch), batch.targets)
                loss.backward()
                losses += float(loss.detach())
                for penalty in objective.proximal:
                    penalty.add_gradient(self.flat.values, into=self.flat.gradient)
                for leaf, (first, last) in zip(leaves, slices, strict=True):
                    leaf.grad = self.flat.gradient[first:last]
                torch.nn.utils.clip_grad_norm_(leaves, self.options.gradient_clip)
                optimizer.step()
                for name in self.network.modalities:
                    self.network.branch(name).constrain()
        return LocalResult(Update(self.flat.values - start), losses / len(batches), len(batches))

    def num_examples(self, client: str) -> int:
        """How many clips the client has."""
        return len(self.clients[client])

    def _batches(self, client: str, seeds: Seeds, *, epochs: int) -> Iterator[Clips]:
        """Every epoch's clips in a new order, cut into batches, some without some of their modalities."""
        clips, absences = self.clients[client], seeds.at("absences").generator()
        for epoch in range(epochs):
            order = torch.from_numpy(seeds.at("epoch", epoch).generator().permutation(len(clips)))
            for rows in order.split(self.options.batch_size):
                yield clips.take(rows).thinned(absences, rate=self.absence_rate)
