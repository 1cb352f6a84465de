"""One modality's part of the network: everything that ever sees it."""

from __future__ import annotations

import torch
from torch import nn

from sordino.models.emotion.options import STAGES, BranchOptions

__all__ = ["Branch"]


class Branch(nn.Module):
    """What one modality contributes to the score of each class.

        x' = (x - centre) / scale
        contribution = W3 tanh(W2 tanh(W1 x' + b1) + b2) + b3

    Under ``lipschitz = L`` each layer's spectral norm is kept at most ``L**(1/3)``, and tanh does not stretch, so that the
    contribution moves at most L for one unit of x'. Under ``max_contribution = B`` it is scaled down to norm B, which does
    not stretch either. ``centre`` and ``scale`` are constants, to be taken from public data; they are not trained.

    Args:
        width: length of the modality's pooled vector.
        num_outputs: number of classes; 1 where a number is predicted.
        options: see `BranchOptions`.
        seed: of the initial weights; nobody else's random numbers are touched.
    """

    centre: torch.Tensor
    scale: torch.Tensor

    def __init__(self, width: int, num_outputs: int, *, options: BranchOptions, seed: int) -> None:
        super().__init__()
        self.options = options
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.features = nn.Linear(width, options.hidden)
            self.fusion = nn.Linear(options.hidden, options.hidden)
            self.classification = nn.Linear(options.hidden, num_outputs)
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))
        self.constrain()

    @property
    def layers(self) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
        """The layer of each of `STAGES`."""
        return self.features, self.fusion, self.classification

    def standardise(self, vectors: torch.Tensor) -> None:
        """Sets centre and scale to mean and standard deviation of public vectors, float32 [clips, width]."""
        self.centre.copy_(vectors.mean(0))
        self.scale.copy_(vectors.std(0, correction=0).clamp_min(1e-3))

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Contributions of some clips.

        Shape:
            vectors: float32 [clips, width]
            returns: float32 [clips, num_outputs]
        """
        hidden = torch.tanh(self.features((vectors - self.centre) / self.scale))
        hidden = torch.tanh(self.fusion(hidden))
        hidden = nn.functional.dropout(hidden, self.options.dropout, self.training)
        scores: torch.Tensor = self.classification(hidden)
        if self.options.max_contribution is None:
            return scores
        limit = self.options.max_contribution
        bounded: torch.Tensor = scores * (limit / scores.norm(dim=1, keepdim=True).clamp_min(limit))
        return bounded

    @torch.no_grad()
    def constrain(self) -> None:
        """Brings every layer under its spectral bound, exactly; to be called after each change of the weights."""
        if self.options.lipschitz is None:
            return
        bound = self.options.lipschitz ** (1 / len(STAGES))
        for layer in self.layers:
            norm = torch.linalg.matrix_norm(layer.weight.double(), ord=2)
            if norm > bound:
                layer.weight.mul_(float(bound / norm) * (1 - 2.0**-20))  # the margin outweighs float32's rounding
