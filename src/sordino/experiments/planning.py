"""What an experiment will guarantee, computed from its options alone: no weights, no data."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from sordino.errors import ConfigError
from sordino.experiments.caveats import caveats_of
from sordino.experiments.layouts import layout_of
from sordino.experiments.outlook import by_alpha, by_population, by_sampler, noise_for_targets
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.privacy import Plan, PrivacyPlan, Terms, make_plan, make_statement, make_terms
from sordino.privacy.statement import CHANNEL_CAVEAT

__all__ = ["plan_report"]


def plan_report(options: FederatedExperiment, *, outlook: bool = False) -> dict[str, Any]:
    """What ``sordino plan --json`` prints.

    Args:
        options: the experiment.
        outlook: also say what other alphas, samplers, targets and populations would give, which takes seconds.

    Raises:
        ConfigError: the population is not declared; it cannot be counted without reading data.
    """
    population = options.privacy.population
    if population is None:
        raise ConfigError("privacy.population is not set: plan reads no data, so declare the number of clients K.")
    layout = layout_of(options.model)
    terms = make_terms(
        options.privacy,
        population=population,
        clients_per_speaker=options.data.partition.clients_per_speaker,
        seeded=options.simulation.seeded,
        caveats=caveats_of(options),
    )
    plan = make_plan(
        options.privacy,
        layout=layout,
        cohort=options.federated.cohort,
        rounds=options.federated.rounds,
        terms=terms,
    )
    rounds = options.federated.rounds
    guarantee = make_statement(terms, [plan.event()] * rounds)
    return {
        "parameters": {name: layout.components.get(name, 0) for name in ("encoder", "connector", "decoder")},
        "tensors": dict(Counter(slot.component for slot in layout.slots)),
        "clip_norms": _clip_norms(plan),
        "z_eff": _effective(plan),
        "noise_multiplier": plan.noise_multiplier if isinstance(plan, PrivacyPlan) else 0.0,
        "epsilon": guarantee.to_json()["epsilon"],
        "unit": terms.unit,
        "population": terms.population,
        "expected_cohort": plan.expected_cohort,
        "rounds": rounds,
        "statement": guarantee.words,
        "outlook": _outlook(plan, terms, rounds) if outlook and isinstance(plan, PrivacyPlan) else None,
    }


def _outlook(plan: PrivacyPlan, terms: Terms, rounds: int) -> dict[str, Any]:
    return {
        "by_alpha": by_alpha(plan),
        "by_sampler": by_sampler(plan, terms, rounds=rounds),
        "noise_for_epsilon": noise_for_targets(plan, terms, rounds=rounds),
        "by_population": by_population(plan, terms, rounds=rounds),
    }


def _clip_norms(plan: Plan) -> dict[str, float | None]:
    bounds = plan.clipper.bounds
    pairs = zip(bounds.blocks, bounds.norms, strict=True)
    return {block.name: norm if math.isfinite(norm) else None for block, norm in pairs}


def _effective(plan: Plan) -> dict[str, Any]:
    """Effective multipliers; null where nothing is sent, or nothing is noised."""
    if not isinstance(plan, PrivacyPlan):
        return {"by_component": {}, "by_pool": {}, "caveat": CHANNEL_CAVEAT}
    by_component, by_pool = plan.effective_multipliers()
    finite = [{name: z if math.isfinite(z) else None for name, z in table.items()} for table in (by_component, by_pool)]
    return {"by_component": finite[0], "by_pool": finite[1], "caveat": CHANNEL_CAVEAT}
