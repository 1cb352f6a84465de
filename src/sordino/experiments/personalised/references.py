"""What no federation has, to stand beside the methods: the untouched start, and models of pooled recordings."""

from __future__ import annotations

import time
from dataclasses import replace

import torch

from sordino.errors import PrivacyError
from sordino.experiments.personalised.bench import Bench
from sordino.experiments.personalised.entrant import with_work
from sordino.experiments.personalised.outcome import Cost, Outcome
from sordino.experiments.personalised.venue import Venue
from sordino.federated import Objective, ServerState
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.part import Part
from sordino.federated.work import Work
from sordino.models.ctc.adapters import ADAPTERS
from sordino.privacy import Ledger, PlainRelease

__all__ = ["GIVEN", "adapt_each", "train_together", "untouched"]

GIVEN = FedAvg()
"""Under it, whoever has never trained uses the model that everybody is given, as it is."""

_EVERYBODY = "everybody"


def untouched(venue: Venue, ledger: Ledger) -> Outcome:
    """The start, for everybody."""
    heard, _ = venue.party("start", GIVEN).hear(ServerState(0, venue.start), seeds=venue.seeds.at("training"))
    outcome = Outcome(cost=Cost(), heard=heard, charges=(len(ledger.charges), len(ledger.charges)))
    return venue.with_new(outcome, lambda *_: venue.start)


def train_together(venue: Venue, ledger: Ledger) -> Outcome:
    """One model, trained on everybody's pooled recordings for the same passes."""
    bench, first, started = _here(venue), len(ledger.charges), time.process_time()
    values, learner = _pooled(bench, ledger, passes=bench.options.federated.passes)
    cost = with_work(Cost(), bench, learner.work + _since(started))
    outcome = Outcome(cost=cost, heard=bench.heard(lambda _: values), charges=(first, len(ledger.charges)))
    return bench.with_new(outcome, lambda *_: values)


def adapt_each(venue: Venue, ledger: Ledger) -> Outcome:
    """That model after half of the passes, and then for each speaker adapters that only the speaker's own recordings train.

    Source: the speaker-dependent reference of arXiv 2606.13253.
    """
    bench, first, started = _here(venue), len(ledger.charges), time.process_time()
    own = bench.options.federated.passes // 2
    values, learner = _pooled(bench, ledger, passes=bench.options.federated.passes - own)
    adapting = bench.adapting()
    begun = torch.cat([values, adapting.recogniser.flat.snapshot()[len(values) :]])
    objective = Objective(trained=Part.of(adapting.layout, [ADAPTERS]), epochs=own)

    def adapted(client: str, by: CtcLearner) -> torch.Tensor:
        if not by.num_examples(client):
            return begun
        seeds = bench.seeds.at("adapters of", client)
        return begun + by.fit(client, begun, seeds=seeds, objective=objective).update.values

    models = {client: adapted(client, adapting) for client in bench.groups}
    cost = with_work(Cost(), bench, learner.work + adapting.work + _since(started))
    heard = bench.heard(models.__getitem__, by=adapting.recogniser)
    outcome = Outcome(cost=cost, heard=heard, charges=(first, len(ledger.charges)))
    return bench.with_new(outcome, adapted, by=adapting.recogniser)


def _here(venue: Venue) -> Bench:
    """The venue if all recordings are here; the options refuse these references elsewhere, and this is the lock."""
    if isinstance(venue, Bench):
        return venue
    raise PrivacyError(
        'recordings that stay with their speakers cannot be pooled; set evaluation.references = ["start"].'
    )


def _since(started: float) -> Work:
    return Work(cpu_s=time.process_time() - started)


def _pooled(bench: Bench, ledger: Ledger, *, passes: int) -> tuple[torch.Tensor, CtcLearner]:
    """The start after passes over everybody's recordings, float32 [layout.size], and what trained it."""
    pooled = [utterance for own in bench.training.values() for utterance in own]
    local = replace(bench.options.federated.local, epochs=passes)
    learner = replace(bench.learners()[0], clients={_EVERYBODY: pooled}, options=local)
    ledger.charge(PlainRelease(what="a model trained on everybody's pooled recordings"), round=0)
    update = learner.fit(_EVERYBODY, bench.start, seeds=bench.seeds.at("central")).update
    return bench.start + update.values, learner
