"""How the loss of public clips depends on a branch's parameters: importance, and the directions that matter."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.func import functional_call, grad, vmap
from torch.nn.utils import parameters_to_vector

from sordino.models.emotion import Branch, Clips, EmotionNetwork
from sordino.models.emotion.network import objective

__all__ = ["Subspace", "clip_gradients", "public_saliency", "public_subspace"]


def clip_gradients(kept: EmotionNetwork, branch: Branch, *, name: str, clips: Clips) -> torch.Tensor:
    """Gradient of each clip's own loss, once with the other modalities and once alone, averaged.

    Args:
        kept: the other branches.
        branch: the modality's branch; its parameters, in the order of its flat vector.
        name: the modality.
        clips: those that lack it are left out.

    Returns:
        float32 [clips that have it, size]
    """
    having = clips.take(clips.rows[name])
    with torch.no_grad():
        others = kept.eval()(having)
    parameters = {key: tensor.detach() for key, tensor in branch.eval().named_parameters()}

    def loss(
        values: dict[str, torch.Tensor], vector: torch.Tensor, beside: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        contribution = functional_call(branch, values, (vector[None],))
        return (objective(contribution + beside, target[None]) + objective(contribution, target[None])) / 2

    each = vmap(grad(loss), in_dims=(None, 0, 0, 0))
    gradients = each(parameters, having.vectors[name], others, having.targets)
    return torch.cat([part.flatten(1) for part in gradients.values()], dim=1)


def public_saliency(gradients: torch.Tensor, branch: Branch) -> torch.Tensor:
    """``mean |gradient * parameter|`` over public clips: about how much the loss would change without the parameter.

    Shape:
        gradients: float32 [clips, size]
        returns: float32 [size]
    """
    return (gradients.abs().mean(0) * parameters_to_vector(branch.parameters()).detach().abs()).contiguous()


@dataclass(frozen=True, slots=True)
class Subspace:
    """Directions in which public clips pull, strongest first.

    Shape:
        basis: float64 [dimensions, size], orthonormal rows
        strength: float64 [dimensions], root mean square of the clips' gradients along each
    """

    basis: torch.Tensor
    strength: torch.Tensor

    @property
    def dimensions(self) -> int:
        """Number of directions."""
        return len(self.basis)


def public_subspace(gradients: torch.Tensor, *, dimensions: int) -> Subspace:
    """The leading right singular vectors of public gradients, float32 [clips, size]; fewer if these span fewer."""
    _, values, rows = torch.linalg.svd(gradients.double(), full_matrices=False)
    count = min(dimensions, max(1, int((values > values[0] * 1e-9).sum())))
    return Subspace(rows[:count], values[:count] / len(gradients) ** 0.5)
