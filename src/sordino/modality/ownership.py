"""Which parameter belongs to which modality: a fact of the architecture, never measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from sordino._check import fraction
from sordino.layout import ParameterLayout
from sordino.models.emotion import Branch, EmotionNetwork
from sordino.models.flat import trainable

__all__ = ["Part", "branch_layout", "owners", "stage_parts", "tier_parts"]


def owners(network: EmotionNetwork) -> Mapping[str, tuple[str, str]]:
    """Modality and stage of every parameter and constant of the network, by its name. It is the same for any weights."""
    found = {}
    for name in network.state_dict():
        _, modality, stage = name.split(".")[:3]
        found[name] = modality, stage
    return found


def branch_layout(branch: Branch) -> ParameterLayout:
    """Where each trained tensor of a branch lies in its flat vector; the components are the stages."""
    return ParameterLayout.from_shapes((name, stage, tensor.shape) for name, stage, tensor in trainable(branch))


@dataclass(frozen=True, slots=True)
class Part:
    """Some coordinates of a branch's flat vector that are released together, under a budget of their own.

    Shape:
        indices: int64 [size]; parts do not overlap
    """

    name: str
    indices: torch.Tensor


def stage_parts(layout: ParameterLayout) -> tuple[Part, ...]:
    """A part for each stage: features, fusion, classification."""
    stages = layout.grouped("component").groups
    return tuple(Part(group.name, torch.cat([torch.arange(*piece) for piece in group.slices])) for group in stages)


def tier_parts(saliency: torch.Tensor, fractions: Sequence[float]) -> tuple[Part, ...]:
    """A part for each tier of importance: ``tier-1`` holds the most salient coordinates, the last one what remains.

    Args:
        saliency: float32 [size] of the branch, measured on public data alone (`sordino.modality.saliency`).
        fractions: size of each tier but the last.

    Raises:
        ConfigError: a fraction outside (0, 1), or all together leave nothing.
    """
    for share in (*fractions, 1 - sum(fractions)):
        fraction("modality.mode.tiers", share)
    order = saliency.argsort(descending=True, stable=True)
    sizes = [max(1, round(share * len(order))) for share in fractions]
    pieces = order.split([*sizes, len(order) - sum(sizes)])
    return tuple(Part(f"tier-{number}", piece.sort().values) for number, piece in enumerate(pieces, start=1))
