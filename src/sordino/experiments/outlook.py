"""What other choices would give at the same place: other alphas, samplers, targets and populations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sordino.errors import PrivacyError
from sordino.privacy import (
    CohortSampler,
    Event,
    FixedSize,
    Poisson,
    PrivacyPlan,
    Terms,
    epsilon,
    noise_multiplier_for,
)
from sordino.privacy.allocations.split import AlphaSplit

__all__ = ["ALPHAS", "by_alpha", "by_population", "by_sampler", "noise_for_targets"]

ALPHAS: Final = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
TARGETS: Final = (1.0, 2.0, 4.0, 8.0)
SCALES: Final = (1, 2, 5, 10, 20, 50, 100)


def by_alpha(plan: PrivacyPlan) -> Sequence[Mapping[str, Any]]:
    """Clip norms and effective multipliers under `AlphaSplit` for several alphas; empty without an encoder to split off.

    Each entry has the smallest and largest clip norm of a block by component, and z_eff of the two pools.
    """
    if not plan.layout.components.get("encoder") or len(plan.layout.components) < 2:
        return []
    return [_split(replace(plan, allocation=AlphaSplit(alpha=alpha)), alpha) for alpha in ALPHAS]


def _split(plan: PrivacyPlan, alpha: float) -> Mapping[str, Any]:
    norms: dict[str, list[float]] = {}
    for block, norm in zip(plan.bounds.blocks, plan.bounds.norms, strict=True):
        norms.setdefault(block.components[0], []).append(norm)
    return {
        "alpha": alpha,
        "clip_norms": {component: [min(found), max(found)] for component, found in norms.items()},
        "z_eff": {pool: z if math.isfinite(z) else None for pool, z in plan.effective_multipliers()[1].items()},
    }


def by_sampler(plan: PrivacyPlan, terms: Terms, *, rounds: int) -> Mapping[str, Mapping[str, float | None]]:
    """Epsilon of both accountants for Poisson and fixed-size cohorts of the plan's expected size and noise."""
    size = max(1, round(plan.expected_cohort))
    samplers: Mapping[str, CohortSampler] = {
        "poisson": Poisson(rate=plan.expected_cohort / plan.population),
        "fixed": FixedSize(size=size),
    }
    return {
        name: {
            accountant: _epsilon(
                sampler.event(plan.noise_multiplier, population=plan.population), terms, rounds, accountant
            )
            for accountant in ("pld", "rdp")
        }
        for name, sampler in samplers.items()
    }


def noise_for_targets(plan: PrivacyPlan, terms: Terms, *, rounds: int) -> Mapping[str, float | None]:
    """The noise multiplier that each target epsilon needs; None where none reaches it."""
    return {f"{target:g}": _noise(target, plan, terms, rounds) for target in TARGETS}


def _noise(target: float, plan: PrivacyPlan, terms: Terms, rounds: int) -> float | None:
    def event(z: float) -> Event:
        return plan.cohort.event(z, population=plan.population)

    try:
        return noise_multiplier_for(
            target, event=event, rounds=rounds, delta=terms.delta, multiplicity=terms.multiplicity
        )
    except PrivacyError:
        return None


def by_population(plan: PrivacyPlan, terms: Terms, *, rounds: int) -> Sequence[Mapping[str, Any]]:
    """Epsilon if the population and with it the cohort were L times as large, at the very noise that the model now gets.

    The mean of L n updates needs L times the multiplier for the same noise z C / n, so what was drowned or learnt stays as
    it is, and only the guarantee changes.
    """
    rows = []
    for scale in SCALES:
        cohort, population = _scaled(plan.cohort, scale), scale * plan.population
        event = cohort.event(scale * plan.noise_multiplier, population=population)
        rows.append(
            {
                "scale": scale,
                "population": population,
                "expected_cohort": scale * plan.expected_cohort,
                "noise_multiplier": scale * plan.noise_multiplier,
                "epsilon": _epsilon(event, terms, rounds, "pld") or _epsilon(event, terms, rounds, "rdp"),
            }
        )
    return rows


def _scaled(cohort: CohortSampler, scale: int) -> CohortSampler:
    return FixedSize(size=scale * cohort.size) if isinstance(cohort, FixedSize) else cohort


def _epsilon(event: Event, terms: Terms, rounds: int, accountant: str) -> float | None:
    figure = epsilon([event] * rounds, delta=terms.delta, accountant=accountant, multiplicity=terms.multiplicity)
    return figure.value if figure.value is not None and math.isfinite(figure.value) else None
