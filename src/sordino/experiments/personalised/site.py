"""What a node holds of a comparison: one speaker, as the method that is under way meets it.

Formal guarantee. With ``[recording_privacy]`` a node trains in the steps of `sordino.privacy.recordings` and in no other
way. Bound, rate and noise are those of the run's experiment, never of a message; the noise is drawn here, and each step is
in the node's own ledger before that (`sordino.privacy.own_ledger`). The experiment is the choice of whoever starts the run:
what holds whatever it says is the limit that the node's operator sets.

| a message | then |
|---|---|
| asks for a round again, or for more than the experiment has | each step is charged, up to that limit |
| greets, or is about the untouched start | there is no recording to train on |
| asks for an embedding | refused |
| is of a run without noise, at a node that names a ledger | refused |
| is of a run with noise from a seed, at a node with recordings of its own | refused |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import torch

from sordino.data import Splits
from sordino.errors import ConfigError
from sordino.evaluation import Mark, mark
from sordino.experiments.on_flower.holding import Holding
from sordino.experiments.on_flower.personalised import PersonalisedHalves
from sordino.experiments.on_flower.remote import OwnRecordings
from sordino.experiments.personalised.at_nodes import topic_of
from sordino.experiments.personalised.entry import Entry, enter, terms_of
from sordino.experiments.personalised.equipment import Equipment, equip
from sordino.experiments.personalised.references import GIVEN
from sordino.experiments.personalised.speakers import Speaker, speakers_of
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated import FederatedMethod
from sordino.federated.private_steps import PrivateSteps
from sordino.flower import Site
from sordino.privacy import NoiseSource
from sordino.privacy.own_ledger import OwnLedger, OwnReceipts
from sordino.seeds import Seeds

__all__ = ["site_of"]


def site_of(halves: PersonalisedHalves, holding: Holding, topic: str) -> Site:
    """One speaker's node, with the method, the data and the noise that a topic is about.

    Args:
        halves: the experiment's; what is loaded for it serves all messages of the process.
        holding: whose recordings the node holds.
        topic: as `topic_of` makes it; empty for a greeting.

    Raises:
        ConfigError: a topic that is not in the experiment, nothing to test on, or no ledger that could be charged.
        PrivacyError: the node's own ledger is damaged, or about something else.
    """
    about = _about(halves.options, topic)
    held = _held(halves, holding.own)
    speakers = held.speakers(about.seed)
    clients = holding.clients(tuple(speakers))
    training = {client: speakers[client].train for client in clients}
    recordings = sum(map(len, training.values()))
    noise = NoiseSource(Seeds(about.seed).at("privacy") if halves.options.simulation.seeded else None)
    ledger = _ledger(halves.options, holding, clients, recordings=recordings)
    learner = held.equipment.learner(training if about.name else {})
    if about.name and ledger is not None:
        learner = replace(learner, private=held.steps(about, ledger, noise, population=len(speakers)))
    return Site(
        learner=learner,
        method=about.method,
        clients=clients,
        noise=noise,
        partition=holding.partition,
        partitions=holding.partitions,
        tries=lambda client, values: held.marks(speakers[client], values),
        recordings=recordings,
        group=speakers[clients[0]].group if len(clients) == 1 else "",
    )


@dataclass(frozen=True, slots=True)
class _About:
    """What messages of a topic are about.

    Attributes:
        name: as the method is called in the experiment; empty where nobody trains.
        method: the method.
        seed: under which it is run.
    """

    name: str
    method: FederatedMethod
    seed: int


def _about(options: PersonalisedExperiment, topic: str) -> _About:
    """The method and the seed; for a greeting any will do."""
    if not topic:
        return _About("", GIVEN, options.repetitions[0])
    for seed in options.repetitions:
        if topic == topic_of("start", seed):
            return _About("", GIVEN, seed)
        for name, method in options.methods.items():
            if topic == topic_of(name, seed):
                return _About(name, method, seed)
    raise ConfigError(
        f"a message about {topic!r} arrived, which is not in the experiment; give server and nodes the same version."
    )


def _ledger(
    options: PersonalisedExperiment, holding: Holding, clients: Sequence[str], *, recordings: int
) -> OwnLedger | None:
    """The node's own, if the run takes noised steps; that of recordings of its own is begun, or seen to go on, at once.

    Raises:
        ConfigError: there is none that could be charged, or one that the run would not charge.
    """
    if options.recording_privacy is None:
        holding.refuse_without_charges()
        return None
    path = holding.ledger_of(next(iter(clients), ""))
    if holding.limit is not None:
        options = replace(options, recording_privacy=replace(options.recording_privacy, delta=holding.limit.delta))
    terms = replace(terms_of(options, population=len(clients), recordings=recordings), budget=None)
    ledger = OwnLedger(path=path, terms=terms, limit=holding.limit)
    if holding.own is not None:
        if terms.seeded:
            raise ConfigError(
                "simulation.seeded = true with recordings of a node's own: expected noise that nobody can repeat; set "
                "simulation.seeded = false."
            )
        ledger.begin()
    return ledger


@dataclass(frozen=True, eq=False)
class _Held:
    """What a node has loaded."""

    equipment: Equipment
    splits: Splits

    def speakers(self, seed: int) -> Mapping[str, Speaker]:
        """Whose recordings they are, dealt out as the seed has it."""
        options = self.equipment.options
        return speakers_of(self.splits, options.data, Seeds(seed), window_s=options.model.window_s).known

    def steps(self, about: _About, ledger: OwnLedger, noise: NoiseSource, *, population: int) -> PrivateSteps:
        """How the node takes steps: as the experiment has them, whatever a message says."""
        private = self.equipment.options.recording_privacy
        assert private is not None  # noqa: S101 - or there would be no ledger
        z = _entry(self, about.name, population).noise_multiplier
        ledger.path.parent.mkdir(parents=True, exist_ok=True)  # in a simulation; at sites the file is there
        return PrivateSteps(private, z, OwnReceipts(ledger, private.event(z)), noise)

    def marks(self, speaker: Speaker, values: torch.Tensor) -> tuple[Sequence[Mark], Sequence[Mark]]:
        """Errors of a model, float32 [layout.size], in test and development utterances."""
        test, development = self.equipment.write(speaker, values)
        return [mark(sample) for sample in test], [mark(sample) for sample in development]


@cache
def _entry(held: _Held, name: str, population: int) -> Entry:
    """A method's, found once a process: how much noise it needs takes seconds to find."""
    options, model = held.equipment.options, held.equipment.model
    method, width = options.methods[name], model.front.width
    return enter(options, name, method, layout=model.layout, embedding_size=width, population=population)


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
