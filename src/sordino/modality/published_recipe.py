"""The published recipe, see `sordino.modality.modes.as_published.AsPublished`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from sordino.modality.case import Case
from sordino.modality.gaussian import classical_multiplier
from sordino.modality.modes.base import Withdrawal, adjacency
from sordino.models.emotion import Clips, EmotionNetwork
from sordino.models.emotion.network import objective
from sordino.privacy import Ledger, NoiseSource, PlainRelease

if TYPE_CHECKING:
    from sordino.modality.modes.as_published import AsPublished

__all__ = ["follow_recipe"]


def follow_recipe(
    options: AsPublished, case: Case, *, ledger: Ledger, noise: NoiseSource, place: str = ""
) -> Withdrawal:
    """Noises a copy of the exposed network; the ledger is charged a release without a guarantee."""
    event = PlainRelease(what="the network after the published recipe, whose sensitivity was observed, not enforced")
    network = copy.deepcopy(case.exposed_network)
    observed = _observed(options, network, case)
    std = observed * classical_multiplier(options.epsilon, delta=options.delta)
    vector = parameters_to_vector(network.parameters()).detach()
    gradient = _gradient(network, case.private)
    count = max(1, round(options.fraction * len(vector)))
    chosen = (gradient * vector).abs().topk(count).indices
    ledger.charge(event, round=len(ledger.charges) + 1).spend(event, seeded=noise.seeded)
    drawn = noise.stream("noise", place).normal(count)
    vector[chosen] += torch.from_numpy(std * drawn).float()
    vector_to_parameters(vector, network.parameters())
    mechanism = {
        "kind": "as published: Gaussian noise on important parameters, sensitivity observed",
        "adjacency": adjacency(case.modality),
        "calibration": "classical Gaussian",
        "sensitivity": observed,
        "noise_std": std,
        "parameters": count,
        "claimed": {"epsilon": options.epsilon, "delta": options.delta},
    }
    return Withdrawal(network=network.eval(), mechanism=mechanism)


def _observed(options: AsPublished, network: EmotionNetwork, case: Case) -> float:
    """The largest distance between a step with the modality and one without, over the batches."""
    others = [name for name in network.modalities if name != case.modality]
    distances = []
    for rows in torch.arange(len(case.private)).chunk(options.batches):
        batch = case.private.take(rows)
        apart = _gradient(network, batch) - _gradient(network, batch.only(others))
        distances.append(options.lr * float(apart.norm()))
    return max(distances)


def _gradient(network: EmotionNetwork, clips: Clips) -> torch.Tensor:
    """Gradient of the mean loss, float32 [parameters]."""
    network.eval()
    parameters = list(network.parameters())
    found = torch.autograd.grad(objective(network(clips), clips.targets), parameters, allow_unused=True)
    return torch.cat(
        [
            (torch.zeros_like(tensor) if part is None else part).flatten()
            for tensor, part in zip(parameters, found, strict=True)
        ]
    )
