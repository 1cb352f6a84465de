"""Gradient matching where it can work: a small network whose input is in its first layer's gradient."""

from __future__ import annotations

import pytest
import torch

from sordino.errors import DataError
from sordino.evaluation.attacks.gradient_matching import FeaturePrior, match_gradient


def setting() -> tuple[torch.nn.Module, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    for parameter in network.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) / 3
    axes = torch.randn(4, 12, generator=generator)
    return network, 1 + torch.randn(201, 4, generator=generator) @ axes  # features that vary along four directions only


def test_features_are_found_in_their_gradient() -> None:
    network, features = setting()
    public, secret = features[:-1], features[-1]

    def gradient(x: torch.Tensor) -> torch.Tensor:
        loss = torch.nn.functional.cross_entropy(network(x)[None], torch.tensor([1]))
        parts = torch.autograd.grad(loss, list(network.parameters()), create_graph=True)
        return torch.cat([part.flatten() for part in parts])

    prior = FeaturePrior.of(public, directions=4)
    found, cosine = match_gradient(gradient, gradient(secret).detach(), prior=prior, steps=300, weight=0)
    blind = float((prior.mean - secret).norm())
    assert cosine > 0.999
    assert float((found - secret).norm()) < 0.1 * blind
    noise = torch.randn(len(gradient(secret)), generator=torch.Generator().manual_seed(1))
    other, _ = match_gradient(gradient, noise, prior=prior, steps=300)
    assert float((other - secret).norm()) > 0.5 * blind, "nothing is found in noise"


def test_the_prior_is_that_of_public_features() -> None:
    _, features = setting()
    prior = FeaturePrior.of(features, directions=4)
    assert prior.directions.shape == (4, 12)
    torch.testing.assert_close(prior.directions.T @ prior.directions, torch.cov(features.T), atol=1e-3, rtol=1e-3)
    assert torch.equal(prior.at(torch.zeros(4)), features.mean(dim=0))
    with pytest.raises(DataError, match="at least 2"):
        FeaturePrior.of(features[:1], directions=4)
