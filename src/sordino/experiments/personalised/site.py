"""What a node holds of a comparison: one speaker, as the method that is under way meets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from sordino.data import Splits
from sordino.errors import ConfigError
from sordino.evaluation import Mark, mark
from sordino.experiments.on_flower.holding import Holding
from sordino.experiments.on_flower.personalised import PersonalisedHalves
from sordino.experiments.on_flower.remote import OwnRecordings
from sordino.experiments.personalised.at_nodes import topic_of
from sordino.experiments.personalised.equipment import Equipment, equip
from sordino.experiments.personalised.references import GIVEN
from sordino.experiments.personalised.speakers import Speaker, speakers_of
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated import FederatedMethod
from sordino.flower import Site
from sordino.privacy import NoiseSource
from sordino.seeds import Seeds

__all__ = ["site_of"]


def site_of(halves: PersonalisedHalves, holding: Holding, topic: str) -> Site:
    """One speaker's node, with the method, the data and the noise that a topic is about.

    Args:
        halves: the experiment's; what is loaded for it serves all messages of the process.
        holding: whose recordings the node holds.
        topic: as `topic_of` makes it; empty for a greeting.

    Raises:
        ConfigError: a topic that is not in the experiment, or nothing to test on.
    """
    method, seed = _about(halves.options, topic)
    held = _held(halves, holding.own)
    speakers = held.speakers(seed)
    clients = holding.clients(tuple(speakers))
    return Site(
        learner=held.equipment.learner({client: speakers[client].train for client in clients}),
        method=method,
        clients=clients,
        noise=NoiseSource(Seeds(seed).at("privacy") if halves.options.simulation.seeded else None),
        partition=holding.partition,
        partitions=holding.partitions,
        tries=lambda client, values: held.marks(speakers[client], values),
        recordings=sum(len(speakers[client].train) for client in clients),
        group=speakers[clients[0]].group if len(clients) == 1 else "",
    )


def _about(options: PersonalisedExperiment, topic: str) -> tuple[FederatedMethod, int]:
    """The method and the seed; for a greeting any will do."""
    methods = {"start": GIVEN, **options.methods}
    topics = {topic_of(name, seed): (method, seed) for seed in options.repetitions for name, method in methods.items()}
    if topic and topic not in topics:
        raise ConfigError(
            f"a message about {topic!r} arrived, which is not in the experiment; give server and nodes the same version."
        )
    return topics[topic] if topic else next(iter(topics.values()))


@dataclass(frozen=True)
class _Held:
    """What a node has loaded."""

    equipment: Equipment
    splits: Splits

    def speakers(self, seed: int) -> Mapping[str, Speaker]:
        """Whose recordings they are, dealt out as the seed has it."""
        options = self.equipment.options
        return speakers_of(self.splits, options.data, Seeds(seed), window_s=options.model.window_s).known

    def marks(self, speaker: Speaker, values: torch.Tensor) -> tuple[Sequence[Mark], Sequence[Mark]]:
        """Errors of a model, float32 [layout.size], in test and development utterances."""
        test, development = self.equipment.write(speaker, values)
        return [mark(sample) for sample in test], [mark(sample) for sample in development]


@lru_cache(maxsize=1)
def _held(halves: PersonalisedHalves, own: OwnRecordings | None) -> _Held:
    """Model and recordings, loaded once a process; every task of the run finds them here."""
    options = halves.options
    if own is not None and own.test is None and not options.data.held_out:
        raise ConfigError(
            "this node has nothing to test its speaker's model on: expected a test manifest in its config, or a share of "
            "its recordings that is held out; name test beside manifest in its SuperNode's --node-config, or set "
            "data.held_out, for example to 0.25."
        )
    corpus = own or options.data.corpus
    return _Held(equip(options), corpus.load(options.model.window_s))
