"""The round loop, the same for every method, plan and backend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from sordino.federated.backend import Backend
from sordino.federated.freed import give_back
from sordino.federated.messages import Task
from sordino.federated.methods.base import FederatedMethod, ServerState, Stage
from sordino.federated.telemetry import RoundTelemetry
from sordino.privacy import Ledger, NoiseSource, PhasedPlan, Plan, Reads, Released
from sordino.privacy.intake import open_intake
from sordino.privacy.phases import Charging
from sordino.seeds import Seeds

__all__ = ["RoundResult", "run_round", "run_rounds"]


P = TypeVar("P", Plan, PhasedPlan)


@dataclass(frozen=True, slots=True)
class RoundResult(Generic[P]):
    """Where the federation stands after a round.

    Attributes:
        state: the server's state.
        plan: the plan for the next round.
        telemetry: what happened among the clients; outside the guarantee.
    """

    state: ServerState
    plan: P
    telemetry: RoundTelemetry


def run_round(
    state: ServerState,
    plan: P,
    *,
    method: FederatedMethod,
    backend: Backend,
    ledger: Ledger,
    noise: NoiseSource,
    seeds: Seeds,
) -> RoundResult[P]:
    """One round: draw; then in each phase train, clip, take in, release, combine. It is charged before its first release.

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
    charging = Charging(plan, ledger, round=number)
    charging.require()
    clients = backend.clients()
    cohort = plan.cohort.draw(clients, population=plan.population, stream=noise.stream("cohort", number))

    telemetry, norms = RoundTelemetry(len(cohort)), []
    for index, step in enumerate(plan.steps):
        stage = Stage(step.phase.name, plan.layout, clients, step.plan.expected_cohort)
        seen = telemetry.phase(step)
        place = (number, stage.phase) if len(plan.steps) > 1 else (number,)
        mixing = method.mixing(state, stage) if step.phase.reads is Reads.MIX else None
        intake = open_intake(step, mixing=mixing, charging=charging, noise=noise, place=place)
        tasks = [
            Task(
                client,
                method.start(state, client, plan.layout),
                step.plan.bounding,
                seeds.at("round", *place, client),
                stage.phase,
                (number, index),
                intake.noising,
                step.phase.reads is not Reads.NOTHING,
            )
            for client in cohort
        ]
        for reply in backend.gather(method, tasks):
            intake.add(reply.client, reply.update)
            seen.add(reply)
            del reply  # or it would stay in memory while the next one is made

        released = intake.release()
        norms.append(seen.learnt(released))
        if isinstance(released, Released):
            state = method.combine(state, released, stage)
        elif released is not None:
            state = method.combine_each(state, released, stage)
    give_back()
    return RoundResult(replace(state, round=number), plan.after_round(norms), telemetry)


def run_rounds(
    state: ServerState,
    plan: P,
    *,
    rounds: int,
    method: FederatedMethod,
    backend: Backend,
    ledger: Ledger,
    noise: NoiseSource,
    seeds: Seeds,
) -> Iterator[RoundResult[P]]:
    """Yields after each round until ``rounds`` are done; resuming is starting from a later state.

    Raises:
        BudgetExhausted: the budget ends before the rounds do.
        ConfigError: the method has no hook for what a phase reads; nobody was asked.
    """
    method.require_hooks(step.phase for step in plan.steps)
    while state.round < rounds:
        result = run_round(state, plan, method=method, backend=backend, ledger=ledger, noise=noise, seeds=seeds)
        state, plan = result.state, result.plan
        yield result
