"""Private training of one modality's branch, see `sordino.modality.modes.dp.PrivateTraining`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch.nn.utils import vector_to_parameters

from sordino.errors import ConfigError
from sordino.layout import ParameterLayout
from sordino.modality.backoff import back_off, flat
from sordino.modality.case import Case
from sordino.modality.modes.base import Withdrawal
from sordino.modality.ownership import branch_layout
from sordino.modality.saliency import clip_gradients
from sordino.privacy import Ledger, NoiseSource, Poisson, PrivacyPlan, Update, noise_multiplier_for

if TYPE_CHECKING:
    from sordino.modality.modes.dp import PrivateTraining

__all__ = ["protected_units", "train_privately"]


def train_privately(
    options: PrivateTraining, case: Case, *, ledger: Ledger, noise: NoiseSource, place: str = ""
) -> Withdrawal:
    """All steps of private training; each charges the ledger, then releases the branch anew."""
    plan = _plan(options, case)
    units, branch = protected_units(case, kind=options.unit), copy.deepcopy(case.reference)
    chosen = _chosen(branch_layout(branch), plan.layout)
    for step in range(1, options.steps + 1):
        drawn = plan.cohort.draw(list(units), population=plan.population, stream=noise.stream("cohort", place, step))
        total = plan.empty_sum()
        gradients = clip_gradients(case.kept, branch, name=case.modality, clips=case.private)
        for unit in drawn:
            total.add(plan.clip(Update(-gradients[units[unit]].mean(0)[chosen])))
        receipt = ledger.charge(plan.event(), round=step)
        released = plan.release(total, receipt=receipt, noise=noise, place=(place, step))
        plan = plan.after(released.norms)
        vector = flat(branch)
        vector[chosen] += options.lr * released.values
        vector_to_parameters(vector, branch.parameters())
        branch.constrain()
    kept_branch, kept = back_off(options.back_off, case, flat(branch) - flat(case.reference))
    mechanism = {
        "kind": "clipped and noised gradient steps from the public reference",
        "adjacency": f"one {options.unit} added or left out",
        "clip_norm": options.clip_norm,
        "sensitivity": options.clip_norm,
        "noise_multiplier": plan.noise_multiplier,
        "noise_std": plan.noise_multiplier * options.clip_norm,
        "steps": options.steps,
        "rate": options.rate,
        "units": plan.population,
        "parameters": plan.layout.size,
        "stages": list(options.stages),
        "kept": kept.to_json(),
    }
    return Withdrawal(network=case.with_branch(kept_branch), mechanism=mechanism)


def _plan(options: PrivateTraining, case: Case) -> PrivacyPlan:
    layout = branch_layout(case.reference)
    cohort = Poisson(rate=options.rate)
    population = len(protected_units(case, kind=options.unit))
    if population == 0:
        raise ConfigError(f"nobody's private clips have the modality {case.modality!r}; withdraw another one.")
    z = noise_multiplier_for(
        options.epsilon,
        event=lambda candidate: cohort.event(candidate, population=population),
        rounds=options.steps,
        delta=options.delta,
    )
    return PrivacyPlan(
        layout.select(slot.name for slot in layout.slots if slot.component in options.stages),
        cohort,
        population,
        allocation=options.allocation,
        clip_norm=options.clip_norm,
        noise_multiplier=z,
    )


def protected_units(case: Case, *, kind: str) -> Mapping[str, list[int]]:
    """Positions of each unit's clips among those that have the modality."""
    rows = case.private.rows.get(case.modality, torch.zeros(0, dtype=torch.int64)).tolist()
    units: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        name = case.private.speakers[row] if kind == "speaker" else str(row)
        units.setdefault(name, []).append(position)
    return units


def _chosen(whole: ParameterLayout, part: ParameterLayout) -> torch.Tensor:
    """Where the coordinates of ``part`` lie in the flat vector of ``whole``."""
    wanted = {slot.name for slot in part.slots}
    return torch.cat([torch.arange(slot.start, slot.stop) for slot in whole.slots if slot.name in wanted])
