"""What no federation has, to stand beside the methods: the untouched start, and models of pooled recordings."""

from __future__ import annotations

import time
from dataclasses import replace

import torch

from sordino.experiments.personalised.bench import Bench
from sordino.experiments.personalised.entrant import Cost, Outcome, heard, with_new, with_work
from sordino.federated import Objective
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.part import Part
from sordino.models.ctc.adapters import ADAPTERS
from sordino.privacy import Ledger, PlainRelease

__all__ = ["adapt_each", "train_together", "untouched"]

_EVERYBODY = "everybody"


def untouched(bench: Bench, ledger: Ledger) -> Outcome:
    """The start, for everybody."""
    outcome = heard(bench, lambda _: bench.start, Cost(), (len(ledger.charges), len(ledger.charges)))
    return with_new(bench, outcome, lambda *_: bench.start, bench.welcoming())


def train_together(bench: Bench, ledger: Ledger) -> Outcome:
    """One model, trained on everybody's pooled recordings for the same passes."""
    first, started = len(ledger.charges), time.process_time()
    values, learner = _pooled(bench, ledger, passes=bench.options.federated.passes)
    cost = replace(with_work(Cost(), bench, [learner]), cpu_s=time.process_time() - started)
    outcome = heard(bench, lambda _: values, cost, (first, len(ledger.charges)))
    return with_new(bench, outcome, lambda *_: values, bench.welcoming())


def adapt_each(bench: Bench, ledger: Ledger) -> Outcome:
    """That model after half of the passes, and then for each speaker adapters that only the speaker's own recordings train.

    Source: the speaker-dependent reference of arXiv 2606.13253.
    """
    first, started = len(ledger.charges), time.process_time()
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

    models = {client: adapted(client, adapting) for client in bench.speakers.known}
    cost = replace(with_work(Cost(), bench, [learner, adapting]), cpu_s=time.process_time() - started)
    outcome = heard(bench, models.__getitem__, cost, (first, len(ledger.charges)), by=adapting.recogniser)
    few = bench.welcoming()
    return with_new(bench, outcome, adapted, replace(few, recogniser=adapting.recogniser))


def _pooled(bench: Bench, ledger: Ledger, *, passes: int) -> tuple[torch.Tensor, CtcLearner]:
    """The start after passes over everybody's recordings, float32 [layout.size], and what trained it."""
    pooled = [utterance for own in bench.training.values() for utterance in own]
    local = replace(bench.options.federated.local, epochs=passes)
    learner = replace(bench.learners()[0], clients={_EVERYBODY: pooled}, options=local)
    ledger.charge(PlainRelease(what="a model trained on everybody's pooled recordings"), round=0)
    update = learner.fit(_EVERYBODY, bench.start, seeds=bench.seeds.at("central")).update
    return bench.start + update.values, learner
