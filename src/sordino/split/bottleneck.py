"""The information-bottleneck loss of the reducers, with estimators of mutual information that are trained and saved.

    L_IB = mean_i [ I(E'; S_i) - beta I(A_i; S_i) ]

S_i are the reduced states of block i and A_i what the side network makes of them: a reducer should keep what the correction
uses and forget the noised input. Its gradient reaches the reducers, which lie at the server, so it has a place only in modes
where the server is trained.

Source: Belghazi et al., MINE: mutual information neural estimation, 2018, for the estimator; HiddenEcho for the loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import torch
from torch import nn

__all__ = ["Bottleneck", "MutualInformation"]

_HIDDEN: Final = 64
_LR: Final = 1e-4
_INNER_STEPS: Final = 2


class MutualInformation(nn.Module):
    """A lower bound on the mutual information of two variables, in nats.

    ``E[T(x, y)] - log E[exp T(x, y')]`` after Donsker and Varadhan, y' being y of other samples; the logarithm is computed
    by logsumexp, without which it overflows as soon as the net is sure of itself.
    """

    def __init__(self, first: int, second: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(first + second, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, 1)
        )

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """The estimate.

        Shape:
            first, second: [samples, width]; one row each of the same sample.
            result: []
        """
        together = self.net(torch.cat([first, second], dim=1))
        apart = self.net(torch.cat([first, second.roll(1, dims=0)], dim=1))  # in an order that is random already
        estimate: torch.Tensor = together.mean() - (torch.logsumexp(apart, dim=0).squeeze() - math.log(len(apart)))
        return estimate


class Bottleneck(nn.Module):
    """Two estimators for each layer and their optimiser; a module, so that a checkpoint has them.

    Args:
        width: d, of the noised embeddings.
        inner: of reduced states and corrections.
        num_layers: L'.
        beta: what is worth more: forgetting the input (small), or keeping what the correction uses (large).
    """

    def __init__(self, *, width: int, inner: int, num_layers: int, beta: float = 1.0) -> None:
        super().__init__()
        self.beta = beta
        self.of_input = nn.ModuleList(MutualInformation(width, inner) for _ in range(num_layers))
        self.of_correction = nn.ModuleList(MutualInformation(inner, inner) for _ in range(num_layers))
        self.optimiser = torch.optim.Adam(self.parameters(), lr=_LR)

    def sharpen(self, noised: torch.Tensor, states: torch.Tensor, trail: Sequence[torch.Tensor]) -> float:
        """Two steps of the estimators on what they are given, which gets no gradient.

        Returns:
            Mean of their estimates before the last step.

        Shape:
            noised: [samples, d]
            states: [samples, L', inner]
            trail: L' times [samples, inner]
        """
        still = noised.detach(), states.detach(), [one.detach() for one in trail]
        total = torch.zeros(())
        for _ in range(_INNER_STEPS):
            self.optimiser.zero_grad()
            total = torch.stack([estimate for pair in self._estimates(*still) for estimate in pair]).mean()
            (-total).backward()
            self.optimiser.step()
        return float(total.detach())

    def forward(self, noised: torch.Tensor, states: torch.Tensor, trail: Sequence[torch.Tensor]) -> torch.Tensor:
        """L_IB, with a gradient to states and trail and none to the estimators; arguments as `sharpen`."""
        self.requires_grad_(requires_grad=False)
        pairs = self._estimates(noised, states, trail)
        loss = torch.stack([of_input - self.beta * of_correction for of_input, of_correction in pairs]).mean()
        self.requires_grad_(requires_grad=True)
        return loss

    def _estimates(
        self, noised: torch.Tensor, states: torch.Tensor, trail: Sequence[torch.Tensor]
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        nets = zip(self.of_input, self.of_correction, trail, strict=True)
        return [
            (of_input(noised, states[:, number]), of_correction(corrected, states[:, number]))
            for number, (of_input, of_correction, corrected) in enumerate(nets)
        ]
