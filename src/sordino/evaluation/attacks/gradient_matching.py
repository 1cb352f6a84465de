"""From a gradient back to the features that gave it, by trying: features are changed until their gradient looks alike.

    minimise over a:   1 - cos(g(mean + a V), observed) + weight mean(a^2)

The prior is what public features are like: V are the principal directions of these, in units of their standard deviation,
so that the attacker only tries what a recording might be. It needs no shadow updates, but a differentiable gradient, and as
many of them as there are steps.

Source: Geiping et al., "Inverting gradients - how easy is it to break privacy in federated learning?", 2020, for the cosine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from sordino._check import at_least, positive
from sordino.errors import DataError

__all__ = ["FeaturePrior", "match_gradient"]


@dataclass(frozen=True)
class FeaturePrior:
    """What public features are like.

    Attributes:
        mean: float32 [...], of the features' own shape.
        directions: float32 [directions, ...], each as long as public features vary along it.
    """

    mean: torch.Tensor
    directions: torch.Tensor

    @classmethod
    def of(cls, public: torch.Tensor, *, directions: int) -> FeaturePrior:
        """The principal directions of some features.

        Shape:
            public: float32 [examples, ...]

        Raises:
            DataError: fewer than two examples.
        """
        if len(public) < 2:
            raise DataError(f"{len(public)} public example(s): expected at least 2 to know how they differ; give more.")
        flat = public.flatten(1)
        mean = flat.mean(dim=0)
        _, lengths, axes = torch.linalg.svd(flat - mean, full_matrices=False)
        scaled = axes * (lengths / (len(public) - 1) ** 0.5)[:, None]
        return cls(mean.view(public.shape[1:]), scaled[:directions].view(-1, *public.shape[1:]))

    def at(self, place: torch.Tensor) -> torch.Tensor:
        """The features at a place, float32 [directions]; zero is the mean."""
        moved: torch.Tensor = torch.tensordot(place, self.directions, dims=1)
        return self.mean + moved


def match_gradient(
    gradient: Callable[[torch.Tensor], torch.Tensor],
    observed: torch.Tensor,
    *,
    prior: FeaturePrior,
    steps: int = 150,
    step_size: float = 0.1,
    weight: float = 1e-3,
) -> tuple[torch.Tensor, float]:
    """Searches for features whose gradient points where the observed one does.

    Args:
        gradient: of the loss, by the features; differentiable itself.
        observed: what was seen of the victim.
        prior: where to search.
        steps: of Adam.
        step_size: in standard deviations of public features.
        weight: of the prior.

    Returns:
        The features, and the cosine that was reached.

    Shape:
        observed: float32 [size], as ``gradient`` gives
    """
    at_least("steps", steps, 1)
    place = torch.zeros(len(prior.directions), requires_grad=True)
    optimizer = torch.optim.Adam([place], lr=positive("step_size", step_size))
    for _ in range(steps):
        cosine = torch.cosine_similarity(gradient(prior.at(place)), observed, dim=0)
        loss = 1 - cosine + weight * place.square().mean()
        (place.grad,) = torch.autograd.grad(loss, [place])
        optimizer.step()
    found = prior.at(place.detach())
    with torch.enable_grad():  # the callable may need it
        reached = torch.cosine_similarity(gradient(found.requires_grad_()), observed, dim=0)
    return found.detach(), float(reached.detach())
