"""One method run on the bench: what its models wrote, and what that took."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from sordino.evaluation import Sample
from sordino.experiments.personalised.bench import Bench
from sordino.experiments.personalised.entry import Entry, enter, paying_for_rounds
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated import FederatedMethod, InProcess, RoundResult, ServerState, run_rounds
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.private_steps import PrivateSteps
from sordino.models.ctc import Recogniser
from sordino.privacy import Ledger, NoiseSource, PhasedPlan, Reads
from sordino.privacy.parallel import ParallelReceipts

__all__ = ["Cost", "Outcome", "compete", "heard", "with_new", "with_work"]

_BYTES = 4
"""A float32's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a method took, all clients together.

    Attributes:
        rounds: that were done; 0 where there are none.
        passes: over a client's own utterances, forward and backward, on average over the clients.
        steps: optimiser steps.
        examples: utterances forward and backward.
        heard: utterances forward only, for embeddings and for what a reference model makes of them.
        bytes_up: that clients sent; what came back to them is ``bytes_down``. The start, which everybody is given once, is
            in neither.
        cpu_s: seconds of processor time of the training.
    """

    rounds: int = 0
    passes: float = 0.0
    steps: int = 0
    examples: int = 0
    heard: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a method.

    Attributes:
        cost: what it took.
        test: what the speakers' models wrote for their test utterances.
        development: likewise, for utterances that options may be chosen by.
        charges: its first charge in the ledger, and one past its last.
        new: what the models of new speakers wrote for their test utterances.
        new_passes: over a new speaker's own utterances, forward and backward, on average; not in ``cost``.
    """

    cost: Cost
    test: Sequence[Sample]
    development: Sequence[Sample]
    charges: tuple[int, int]
    new: Sequence[Sample] = ()
    new_passes: float = 0.0


def compete(
    bench: Bench, name: str, method: FederatedMethod, ledger: Ledger, *, after_round: Callable[[int, int], None]
) -> Outcome:
    """Runs a method for as many rounds as its passes pay for.

    Args:
        bench: what it is run on.
        name: as it is called in the experiment.
        method: the method.
        ledger: charged for what it releases.
        after_round: is told how many of its rounds are done, and of how many.

    Raises:
        BudgetExhausted: the budget ends before the rounds do.
        ConfigError: the passes do not pay for one round, or the privacy asked for does not fit the method.
    """
    first, started, model = len(ledger.charges), time.process_time(), bench.recognisers[0]
    clients = tuple(bench.speakers.known)
    entry = enter(
        bench.options, name, method, layout=model.layout, embedding_size=model.front.width, population=len(clients)
    )
    rounds, plan = entry.rounds, entry.plan
    noise = NoiseSource(bench.seeds.at("privacy") if ledger.terms.seeded else None)
    learners = bench.learners(_private_steps(bench.options, entry, ledger, noise))
    backend, cost = InProcess(learners, clients), Cost()
    state = ServerState(0, bench.start.clone())
    seeds = bench.seeds.at("training")
    with paying_for_rounds(bench.options, ledger, population=len(clients)) as paying:
        for result in run_rounds(
            state, plan, rounds=rounds, method=method, backend=backend, ledger=paying, noise=noise, seeds=seeds
        ):
            state, cost = result.state, _with_bytes(cost, result, plan)
            after_round(state.round, rounds)
    models = {
        client: method.personal(
            method.parting(state, client, model.layout),
            client,
            learner=learners[0],
            memory=backend.memory.of(client, (rounds + 1, 0)),
            seeds=seeds.at(client),
        )
        for client in clients
    }
    cost = replace(with_work(cost, bench, learners), rounds=rounds, cpu_s=time.process_time() - started)
    outcome = heard(bench, models.__getitem__, cost, (first, len(ledger.charges)))

    def welcomed(client: str, learner: CtcLearner) -> torch.Tensor:
        if not learner.num_examples(client):
            return method.start(state, client, learner.layout)
        return method.newcomer(state, client, learner=learner, plan=plan, seeds=seeds.at("new", client))

    return with_new(bench, outcome, welcomed, bench.welcoming())


def _private_steps(
    options: PersonalisedExperiment, entry: Entry, ledger: Ledger, noise: NoiseSource
) -> PrivateSteps | None:
    """How local training hides recordings, if it does; the ledger is charged by step."""
    if options.recording_privacy is None:
        return None
    receipts = ParallelReceipts(ledger, options.recording_privacy.event(entry.noise_multiplier))
    return PrivateSteps(options.recording_privacy, entry.noise_multiplier, receipts, noise)


def _with_bytes(cost: Cost, result: RoundResult[PhasedPlan], plan: PhasedPlan) -> Cost:
    drawn, names = result.telemetry.to_json()["drawn"], {slot.name for slot in plan.layout.slots}
    sent = [step.phase.layout for step in plan.steps if step.phase.reads is not Reads.NOTHING]
    answered = [layout for layout in sent if names.issuperset(slot.name for slot in layout.slots)]
    up, down = (drawn * _BYTES * sum(layout.size for layout in layouts) for layouts in (sent, answered))
    return replace(cost, bytes_up=cost.bytes_up + up, bytes_down=cost.bytes_down + down)


def with_work(cost: Cost, bench: Bench, learners: Sequence[CtcLearner]) -> Cost:
    """The cost with the work that these have done since they were made."""
    steps, examples, heard = (
        sum(getattr(learner.work, name) for learner in learners) for name in ("steps", "passes", "heard")
    )
    everything = sum(len(own) for own in bench.training.values())
    return replace(cost, steps=steps, examples=examples, heard=heard, passes=examples / everything)


def heard(
    bench: Bench,
    values_of: Callable[[str], torch.Tensor],
    cost: Cost,
    charges: tuple[int, int],
    *,
    by: Recogniser | None = None,
) -> Outcome:
    """The outcome that the clients' models make of their held-out utterances; see `Bench.listen`."""
    written = bench.listen(values_of, to=bench.speakers.known, by=by)
    return Outcome(cost, written.test, written.development, charges)


def with_new(
    bench: Bench, outcome: Outcome, welcomed: Callable[[str, CtcLearner], torch.Tensor], learner: CtcLearner
) -> Outcome:
    """The outcome with what new speakers' models wrote; they are made one by one, each when it is needed.

    Args:
        bench: who is new.
        outcome: of the clients.
        welcomed: makes the model of a new speaker, float32 [layout.size].
        learner: has what the new speakers have.
    """
    new = bench.speakers.new
    written = bench.listen(lambda client: welcomed(client, learner), to=new, by=learner.recogniser)
    few = sum(len(speaker.train) for speaker in new.values())
    return replace(outcome, new=written.test, new_passes=learner.work.passes / few if few else 0.0)
