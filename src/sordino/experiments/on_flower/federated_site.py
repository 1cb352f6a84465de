"""What a node holds of a federated speech-LLM: its clients, and a model that trains them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import torch

from sordino.experiments.assembly import clients_of
from sordino.experiments.on_flower.federated import FederatedHalves
from sordino.experiments.on_flower.holding import Holding
from sordino.experiments.on_flower.remote import OwnRecordings
from sordino.experiments.sharing import Shared
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.federated import SpeechLearner
from sordino.flower import Site
from sordino.models import load_model
from sordino.privacy import NoiseSource
from sordino.seeds import Seeds

__all__ = ["count_clients", "site_of"]


def count_clients(options: FederatedExperiment) -> int:
    """How many clients the experiment's partition makes of its training clips."""
    model = load_model(options.model, seed=Seeds(options.seed).at("adapters").integer())
    return len(clients_of(options, Shared().splits(options.data.corpus, model.window_s).train))


def site_of(halves: FederatedHalves, holding: Holding) -> Site:
    """A manifest's speakers, or in a simulation a part of the experiment's clients.

    Args:
        halves: the experiment's; what is loaded for it serves all messages of the process.
        holding: whose recordings the node holds.

    Raises:
        ConfigError: there are more nodes than clients.
    """
    whole = _held(halves, holding.own)
    clients = holding.clients(whole.clients)
    return replace(whole, clients=clients, partition=holding.partition, partitions=holding.partitions)


@lru_cache(maxsize=1)
def _held(halves: FederatedHalves, own: OwnRecordings | None) -> Site:
    """Model and recordings, loaded once a process; every task of the run finds them here."""
    options = halves.options
    if options.simulation.threads:
        torch.set_num_threads(options.simulation.threads)
    shared, seeds = Shared(), Seeds(options.seed)
    model = load_model(options.model, seed=seeds.at("adapters").integer())
    corpus = own or options.data.corpus
    clients = clients_of(options, shared.splits(corpus, model.window_s).train)
    features = shared.features(corpus, model, limit_mb=options.data.memory_mb)
    utterances = {held.id: held.utterances for held in clients}
    return Site(
        learner=SpeechLearner(model, features, utterances, options.federated.local),
        method=options.federated.method,
        clients=tuple(utterances),
        noise=NoiseSource(seeds.at("privacy") if options.simulation.seeded else None),
    )
