"""The round loop, the same for every method, plan and backend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sordino.federated.backend import Backend
from sordino.federated.messages import Task
from sordino.federated.methods.base import FederatedMethod, ServerState
from sordino.federated.telemetry import RoundTelemetry
from sordino.privacy import Ledger, NoiseSource, Plan
from sordino.seeds import Seeds

__all__ = ["RoundResult", "run_round", "run_rounds"]


@dataclass(frozen=True, slots=True)
class RoundResult:
    """Where the federation stands after a round.

    Attributes:
        state: the server's state.
        plan: the plan for the next round.
        telemetry: what happened among the clients; outside the guarantee.
    """

    state: ServerState
    plan: Plan
    telemetry: RoundTelemetry


def run_round(
    state: ServerState,
    plan: Plan,
    *,
    method: FederatedMethod,
    backend: Backend,
    ledger: Ledger,
    noise: NoiseSource,
    seeds: Seeds,
) -> RoundResult:
    """One round: draw, train, clip, sum, charge, release, combine.

    Args:
        state: where the last round ended.
        plan: the guarantee of this round.
        method: the algorithm.
        backend: the clients.
        ledger: charged before anything is released.
        noise: source of the cohort and of the noise.
        seeds: order of local training.

    Raises:
        BudgetExhausted: the budget does not cover the round; no client was asked.
    """
    number = state.round + 1
    ledger.require(plan.event(), round=number)
    cohort = plan.cohort.draw(backend.clients(), population=plan.population, stream=noise.stream("cohort", number))
    tasks = [Task(client, state.values, plan.bounding, seeds.at("round", number, client)) for client in cohort]

    total, telemetry = plan.empty_sum(), RoundTelemetry(len(cohort), plan)
    for reply in backend.gather(method, tasks):
        total.add(reply.update)
        telemetry.add(reply)
        del reply  # or it would stay in memory while the next one is made

    receipt = ledger.charge(plan.event(), round=number)
    released = plan.release(total, receipt=receipt, noise=noise, place=(number,))
    seen = telemetry.unnoised(released.norms) if plan.reads_raw_norms else released.norms
    return RoundResult(method.combine(state, released), plan.after(seen), telemetry)


def run_rounds(
    state: ServerState,
    plan: Plan,
    *,
    rounds: int,
    method: FederatedMethod,
    backend: Backend,
    ledger: Ledger,
    noise: NoiseSource,
    seeds: Seeds,
) -> Iterator[RoundResult]:
    """Yields after each round until ``rounds`` are done; resuming is starting from a later state.

    Raises:
        BudgetExhausted: the budget ends before the rounds do.
    """
    while state.round < rounds:
        result = run_round(state, plan, method=method, backend=backend, ledger=ledger, noise=noise, seeds=seeds)
        state, plan = result.state, result.plan
        yield result
