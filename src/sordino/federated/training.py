"""Local training of a speech-LLM on one client's utterances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from sordino.data import FeatureStore, Utterance
from sordino.federated.learner import LocalResult
from sordino.federated.objective import PLAIN, Objective
from sordino.federated.options import LocalOptions
from sordino.federated.part import Part
from sordino.layout import ParameterLayout
from sordino.models.devices import seed_device
from sordino.privacy import Update
from sordino.seeds import Seeds

if TYPE_CHECKING:
    from sordino.models import SpeechLLM

__all__ = ["SpeechLearner"]


@dataclass(frozen=True)
class SpeechLearner:
    """One model shared by all clients of this process, and everybody's utterances.

    Args:
        model: the speech-LLM; only its flat vector of adapters changes.
        features: log-mels of the utterances, or what a frozen encoder makes of them.
        clients: each client's utterances, transcripts already normalised.
        options: how a client trains.
    """

    model: SpeechLLM
    features: FeatureStore
    clients: Mapping[str, Sequence[Utterance]]
    options: LocalOptions

    @property
    def layout(self) -> ParameterLayout:
        """The model's layout."""
        return self.model.layout

    def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds, objective: Objective = PLAIN) -> LocalResult:
        """AdamW from ``start`` over the client's utterances; a new optimiser each time, so clients never mix.

        Of an objective it knows the part and the penalties on parameters.

        Shape:
            start: float32 [layout.size], unchanged
        """
        flat = self.model.flat
        flat.load(start)
        if not self.model.training:  # visits every module
            self.model.train()
        seed_device(flat.values.device, seeds.at("dropout of units").integer())
        optimizer = self._optimizer(objective.trained)
        peaks = [group["lr"] for group in optimizer.param_groups]
        batches = list(self._batches(client, seeds, epochs=objective.epochs or self.options.epochs))
        losses = 0.0
        for step, batch in enumerate(batches):
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["lr"] = peak * 0.5 * (1 + math.cos(math.pi * step / len(batches)))
            flat.zero_gradient()
            losses += self._backward(batch)
            for penalty in objective.proximal:
                penalty.add_gradient(flat.values, into=flat.gradient)
            scale = self.options.gradient_clip / max(self._gradient_norm(objective.trained), 1e-12)
            if scale < 1:
                flat.gradient.mul_(scale)
            optimizer.step()
        update = Update(flat.snapshot().sub_(start))
        return LocalResult(update, losses / len(batches), len(batches))

    def num_examples(self, client: str) -> int:
        """How many utterances the client has."""
        return len(self.clients[client])

    def _gradient_norm(self, trained: Part | None) -> float:
        gradient = self.model.flat.gradient
        return float((gradient if trained is None else trained.take(gradient)).norm())

    def _backward(self, batch: Sequence[Utterance]) -> float:
        """Adds the gradient of the batch's mean loss a token, computed a few utterances at a time; returns that mean."""
        size = self.options.micro_batch_size or len(batch)
        tokens = sum(self.model.tokens.count(utterance.text) for utterance in batch)
        total = 0.0
        for first in range(0, len(batch), size):
            part = batch[first : first + size]
            prepared = self.features.features(part, encoder=self.model.frozen_encoder)
            loss = self.model.loss(self.model.inputs(prepared), [u.text for u in part], tokens=tokens)
            loss.backward()
            total += float(loss.detach())
        return total

    def _optimizer(self, trained: Part | None) -> torch.optim.AdamW:
        groups = [
            {
                "params": self._leaves(component, trained),
                "lr": self.options.lr * (self.options.encoder_lr_multiplier if component == "encoder" else 1.0),
            }
            for component in (self.layout if trained is None else trained.layout).components
        ]
        return torch.optim.AdamW(groups, lr=self.options.lr, weight_decay=self.options.weight_decay, fused=True)

    def _leaves(self, component: str, trained: Part | None) -> list[nn.Parameter]:
        """What is stepped on: all of the component, or that of it which is trained, so that nothing decays the rest."""
        flat = self.model.flat
        if trained is None:
            return flat.parameters(component)
        leaves = []
        for start, stop in trained.of_component(component):
            leaf = nn.Parameter(flat.values[start:stop])
            leaf.grad = flat.gradient[start:stop]
            leaves.append(leaf)
        return leaves

    def _batches(self, client: str, seeds: Seeds, *, epochs: int) -> Iterator[Sequence[Utterance]]:
        """Every epoch's utterances in a new order, cut into batches."""
        utterances, size = self.clients[client], self.options.batch_size
        for epoch in range(epochs):
            order = seeds.at("epoch", epoch).generator().permutation(len(utterances))
            for first in range(0, len(order), size):
                yield [utterances[index] for index in order[first : first + size]]
