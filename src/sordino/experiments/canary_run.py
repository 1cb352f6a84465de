"""The real round loop with canaries among its clients, and what its releases show of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import BudgetExhausted
from sordino.evaluation.attacks import Filter, Sighting, matched_filter
from sordino.experiments.canary_clients import Listening, WithCanaries, amplitudes
from sordino.federated import FederatedMethod, ServerState, run_rounds
from sordino.privacy import Ledger, NoiseSource, Plan
from sordino.seeds import Seeds

__all__ = ["expectation", "run_with_canaries"]


def run_with_canaries(
    state: ServerState,
    plan: Plan,
    *,
    rounds: int,
    method: FederatedMethod,
    backend: WithCanaries,
    ledger: Ledger,
    noise: NoiseSource,
    seeds: Seeds,
) -> Sighting:
    """Runs the rounds and looks for each canary in everything that was released.

    Args:
        state: where to start.
        plan: the guarantee; its population counts the canaries.
        rounds: T.
        method: the algorithm.
        backend: ordinary clients and canaries.
        ledger: charged as in any run.
        noise: of cohorts and releases.
        seeds: of local training.

    Raises:
        BudgetExhausted: the budget covers no round at all; later ones end the run.
    """
    listening, sights = Listening(method), []
    loop = run_rounds(
        state, plan, rounds=rounds, method=listening, backend=backend, ledger=ledger, noise=noise, seeds=seeds
    )
    try:
        for result in loop:
            sights.append(_look(plan, backend))
            plan = result.plan
    except BudgetExhausted:
        if not sights:
            raise
    filtered = [
        [plan.expected_cohort * heard * of_kind.weights for of_kind in sight.filters]
        for heard, sight in zip(listening.heard, sights, strict=True)
    ]
    return _sighting(plan, backend, sights, observed=backend.canaries.look(filtered))


def expectation(plan: Plan, backend: WithCanaries, *, rounds: int) -> Sighting:
    """What is to be expected of a run that keeps the bounds it starts with, before it has begun."""
    shape = (backend.canaries.num, rounds)
    return _sighting(plan, backend, [_look(plan, backend)] * rounds, observed=np.zeros(shape))


@dataclass(frozen=True, slots=True)
class _Sight:
    """How each kind of canary is looked for in one round, and how far the others are in the way."""

    filters: Sequence[Filter]
    interference: Sequence[float]


def _look(plan: Plan, backend: WithCanaries) -> _Sight:
    canaries, clipper = backend.canaries, plan.clipper
    heights = [amplitudes(clipper, plan.layout, kind) for kind in canaries.kinds]
    stds = np.zeros(plan.layout.size)
    for block, std in zip(clipper.bounds.blocks, plan.noise_stds, strict=True):
        for start, stop in block.slices:
            stds[start:stop] = std
    filters = [matched_filter(height, stds) for height in heights]
    drawn = _rate(plan) / 2 * np.bincount(canaries.kind, minlength=len(heights))
    others = [
        float(np.sqrt(sum(n * each.interference(height) ** 2 for n, height in zip(drawn, heights, strict=True))))
        for each in filters
    ]
    return _Sight(filters, others)


def _rate(plan: Plan) -> float:
    return plan.expected_cohort / plan.population


def _sighting(
    plan: Plan, backend: WithCanaries, sights: Sequence[_Sight], *, observed: npt.NDArray[np.float64]
) -> Sighting:
    kind = backend.canaries.kind
    noise = np.array([[of_kind.noise for of_kind in sight.filters] for sight in sights])
    others = np.array([sight.interference for sight in sights])
    return Sighting(
        observed=observed,
        noise=noise[:, kind].T,
        interference=others[:, kind].T,
        kind=kind,
        kinds=backend.canaries.kinds,
        rate=_rate(plan),
    )
