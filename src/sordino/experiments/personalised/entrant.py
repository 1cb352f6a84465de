"""One method run at a venue: what its models got wrong, and what that took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from sordino.experiments.personalised.entry import Entry, enter, paying_for_rounds
from sordino.experiments.personalised.hiding import Hiding
from sordino.experiments.personalised.outcome import Cost, Outcome
from sordino.experiments.personalised.venue import Venue
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated import FederatedMethod, RoundResult, ServerState, run_rounds
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.work import Work
from sordino.privacy import Ledger, NoiseSource, PhasedPlan, Reads

__all__ = ["compete", "with_work"]

_BYTES = 4
"""A float32's."""


def compete(
    venue: Venue, name: str, method: FederatedMethod, ledger: Ledger, *, after_round: Callable[[int, int], None]
) -> Outcome:
    """Runs a method for as many rounds as its passes pay for.

    Args:
        venue: where it is run.
        name: as it is called in the experiment.
        method: the method.
        ledger: charged for what it releases.
        after_round: is told how many of its rounds are done, and of how many.

    Raises:
        BudgetExhausted: the budget ends before the rounds do.
        ConfigError: the passes do not pay for one round, or the privacy asked for does not fit the method.
    """
    first, model, population = len(ledger.charges), venue.model, len(venue.groups)
    entry = enter(
        venue.options, name, method, layout=model.layout, embedding_size=model.front.width, population=population
    )
    rounds, plan = entry.rounds, entry.plan
    noise = NoiseSource(venue.seeds.at("privacy") if ledger.terms.seeded else None)
    party = venue.party(name, method, hiding=_hiding(venue.options, entry, ledger, noise))
    state, cost, seeds = ServerState(0, venue.start.clone()), Cost(rounds=rounds), venue.seeds.at("training")
    with paying_for_rounds(venue.options, ledger, population=population) as paying:
        for result in run_rounds(
            state, plan, rounds=rounds, method=method, backend=party.backend, ledger=paying, noise=noise, seeds=seeds
        ):
            state, cost = result.state, _with_bytes(cost, result, plan)
            after_round(state.round, rounds)
    heard, work = party.hear(state, seeds=seeds)
    outcome = Outcome(cost=with_work(cost, venue, work), heard=heard, charges=(first, len(ledger.charges)))

    def welcomed(client: str, learner: CtcLearner) -> torch.Tensor:
        if not learner.num_examples(client):
            return method.start(state, client, learner.layout)
        return method.newcomer(state, client, learner=learner, plan=plan, seeds=seeds.at("new", client))

    return venue.with_new(outcome, welcomed)


def _hiding(options: PersonalisedExperiment, entry: Entry, ledger: Ledger, noise: NoiseSource) -> Hiding | None:
    if options.recording_privacy is None:
        return None
    return Hiding(options=options.recording_privacy, entry=entry, ledger=ledger, noise=noise)


def _with_bytes(cost: Cost, result: RoundResult[PhasedPlan], plan: PhasedPlan) -> Cost:
    drawn, names = result.telemetry.to_json()["drawn"], {slot.name for slot in plan.layout.slots}
    sent = [step.phase.layout for step in plan.steps if step.phase.reads is not Reads.NOTHING]
    answered = [layout for layout in sent if names.issuperset(slot.name for slot in layout.slots)]
    up, down = (drawn * _BYTES * sum(layout.size for layout in layouts) for layouts in (sent, answered))
    return replace(cost, bytes_up=cost.bytes_up + up, bytes_down=cost.bytes_down + down)


def with_work(cost: Cost, venue: Venue, work: Work) -> Cost:
    """The cost with the work that the clients have done."""
    passes = work.passes / venue.recordings
    return replace(cost, steps=work.steps, examples=work.passes, heard=work.heard, passes=passes, cpu_s=work.cpu_s)
