"""Surgery on one modality's branch, see `sordino.modality.modes.surgery.Surgery`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from sordino.modality.backoff import back_off, flat
from sordino.modality.budgets import Demand
from sordino.modality.case import Case
from sordino.modality.incision import Incision
from sordino.modality.modes.base import Withdrawal
from sordino.modality.ownership import Part, branch_layout, stage_parts, tier_parts
from sordino.modality.saliency import clip_gradients, public_saliency, public_subspace
from sordino.privacy import Ledger, NoiseSource

if TYPE_CHECKING:
    from sordino.modality.modes.surgery import Surgery

__all__ = ["operate"]


def operate(options: Surgery, case: Case, *, ledger: Ledger, noise: NoiseSource, place: str = "") -> Withdrawal:
    """Charges every part, releases it, and keeps of all together what the back-off allows.

    Everything but the difference itself (parts, subspace, C, budget, back-off) comes from public clips.
    """
    gradients = clip_gradients(case.kept, case.reference, name=case.modality, clips=case.public)
    parts = _parts(options, case, gradients)
    incisions = _incisions(options, case, gradients, parts)
    indices = {part.name: part.indices for part in parts}
    difference = flat(case.exposed) - flat(case.reference)
    change = torch.zeros(len(difference), dtype=torch.float64)
    for incision in incisions:
        receipt = ledger.charge(incision.event(), round=len(ledger.charges) + 1)
        own = indices[incision.name]
        change[own] = incision.release(difference[own], receipt=receipt, noise=noise, place=(place, incision.name))
    branch, kept = back_off(options.back_off, case, change)
    mechanism = {
        "kind": "clipped difference in a public subspace with Gaussian noise",
        "adjacency": options.neighbours(case.modality),
        "calibration": "analytic Gaussian",
        "budget": type(options.budget).name,
        "parts": [_described(incision) for incision in incisions],
        "kept": kept.to_json(),
    }
    return Withdrawal(network=case.with_branch(branch), mechanism=mechanism)


def _parts(options: Surgery, case: Case, gradients: torch.Tensor) -> Sequence[Part]:
    if options.parts == "stages":
        return stage_parts(branch_layout(case.reference))
    return tier_parts(public_saliency(gradients, case.reference), options.tiers)


def _incisions(options: Surgery, case: Case, gradients: torch.Tensor, parts: Sequence[Part]) -> list[Incision]:
    """One for each part that has a share of the budget, from what is public."""
    moved = flat(case.reference) - flat(case.initial)
    found = []
    for part in parts:
        subspace = public_subspace(gradients[:, part.indices], dimensions=options.dimensions // len(parts))
        clip_norm = options.clip * float((subspace.basis @ moved[part.indices].double()).norm())
        found.append((part.name, subspace, max(clip_norm, 1e-6)))
    factor = 1 if options.hides == "modality" else 2
    demands = [
        Demand(name, factor * clip_norm, float((subspace.strength**2).mean()), subspace.dimensions)
        for name, subspace, clip_norm in found
    ]
    multipliers = options.budget.divide(demands, epsilon=options.epsilon, delta=options.delta)
    return [
        Incision(
            name=name,
            subspace=subspace,
            shape=_shape(options, subspace.strength),
            clip_norm=clip_norm,
            sensitivity=factor * clip_norm,
            noise_multiplier=multipliers[name],
            neighbours=options.neighbours(case.modality),
        )
        for name, subspace, clip_norm in found
        if not math.isinf(multipliers[name])
    ]


def _shape(options: Surgery, strength: torch.Tensor) -> torch.Tensor:
    """L: ones, or less where gradients are strong, with a geometric mean of 1."""
    if options.noise == "isotropic":
        return torch.ones_like(strength)
    inverse = strength.clamp_min(1e-12).log().neg() / 2
    return (inverse - inverse.mean()).exp()


def _described(incision: Incision) -> dict[str, Any]:
    return {
        "name": incision.name,
        "clip_norm": incision.clip_norm,
        "sensitivity": incision.sensitivity,
        "noise_multiplier": incision.noise_multiplier,
        "noise_std": incision.noise_std,
        "dimensions": incision.subspace.dimensions,
        "parameters": incision.subspace.basis.shape[1],
        "noise_shape": "isotropic" if bool((incision.shape == 1).all()) else "correlated",
    }
