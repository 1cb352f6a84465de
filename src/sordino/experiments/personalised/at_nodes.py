"""A venue whose speakers are elsewhere: each one's recordings, memory and own model stay at a Flower node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sordino.errors import ConfigError
from sordino.experiments.observer import Observer
from sordino.experiments.on_flower.remote import UNSEEN, note_more_than_declared
from sordino.experiments.personalised.equipment import equip
from sordino.experiments.personalised.hiding import Hiding
from sordino.experiments.personalised.outcome import Heard
from sordino.experiments.personalised.speakers import speakers_of
from sordino.experiments.personalised.start import begin
from sordino.experiments.personalised.venue import Party, Venue
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated import ClientFailed, FederatedMethod, ServerState
from sordino.federated.work import Work
from sordino.flower import FlowerGrid, FlowerSettings, Grid, Nodes, Trial
from sordino.flower.codec import Greeting
from sordino.privacy import PrivacyOptions
from sordino.seeds import Seeds

__all__ = ["AtNodes", "Meeting", "topic_of"]

_UNSEEN_STEPS: Final = (
    "what the server cannot see: a recording that lies at several nodes counts once, and steps that a node takes beyond "
    "those of the experiment are in that node's own ledger alone"
)
_SEEN_WORK: Final = "what each node told the server of its work, task by task, which the draws of its recordings decide"


def topic_of(name: str, seed: int) -> str:
    """What messages call one method, or the untouched start, under one seed."""
    return f"{name}-seed{seed}"


@dataclass(frozen=True, kw_only=True)
class AtNodes(Venue):
    """See `Venue`.

    Attributes:
        nodes: everybody who is connected.
        names: in a simulation, the speaker that each part of the data stands for; otherwise nodes go by their ids.
        met: who takes part, with what each node said of itself.
        settings: of the run.
        note: is told in words why nodes fail.
    """

    nodes: Nodes
    names: tuple[str, ...]
    met: Mapping[str, Greeting]
    settings: FlowerSettings
    note: Callable[[str], None]

    @property
    def groups(self) -> Mapping[str, str]:
        """As the nodes say."""
        return {client: greeting.group for client, greeting in self.met.items()}

    @property
    def recordings(self) -> int:
        """As the nodes say, under the first seed."""
        return sum(greeting.recordings for greeting in self.met.values())

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a server cannot see of nodes with recordings of their own, or sees of them alone."""
        if not self.settings.own_recordings:
            return ()
        return (UNSEEN,) if self.options.recording_privacy is None else (_UNSEEN_STEPS, _SEEN_WORK)

    def party(self, name: str, method: FederatedMethod, *, hiding: Hiding | None = None) -> Party:
        """The nodes, whose messages name the method; all steps of theirs that it takes are charged before the first."""
        if hiding is not None:
            hiding.charge_ahead()
        topic = topic_of(name, self.options.seed)
        grid = FlowerGrid(
            self.nodes,
            names=self.names,
            rate=None,
            measured=True,
            timeout_s=self.settings.timeout_s,
            note=self.note,
            topic=topic,
            among=self.met.keys(),
        )
        return _There(self, method, grid, topic)


class _There(Party):
    def __init__(self, venue: AtNodes, method: FederatedMethod, grid: FlowerGrid, topic: str) -> None:
        self._venue, self._method, self._grid, self._topic = venue, method, grid, topic

    @property
    def backend(self) -> FlowerGrid:
        return self._grid

    def hear(self, state: ServerState, *, seeds: Seeds) -> tuple[Heard, Work]:
        clients, layout = tuple(self._venue.met), self._venue.model.layout
        trials = [
            Trial(
                client=client,
                given=self._method.parting(state, client, layout),
                seeds=seeds.at(client),
                moment=(state.round + 1, 0),
                topic=self._topic,
            )
            for client in self._grid.clients()
        ]
        tried = dict(self._grid.try_models(trials))
        away = [client for client in clients if client not in tried]
        if away:
            reason = self._grid.reasons.get(away[0])
            raise ClientFailed(
                f"{len(away)} of {len(clients)} speakers did not try their models of {self._topic}, such as {away[0]!r}"
                f"{f' ({reason})' if reason else ''}: expected all of them, since methods are compared on the same "
                "utterances; see that their nodes run, and continue with --resume, which does this method again."
            )
        test, development = (
            [mark for client in clients for mark in getattr(tried[client], part)] for part in ("test", "development")
        )
        return Heard(test=test, development=development), self._grid.work


class Meeting:
    """Finds the nodes of a run, and makes the venue of each seed among those that were there at first.

    Args:
        grid: Flower's connection to them.
        settings: of the run.
    """

    def __init__(self, grid: Grid, settings: FlowerSettings) -> None:
        self._grid, self._settings = grid, settings
        self._nodes: Nodes | None = None
        self._met: Mapping[str, Greeting] = {}

    def __call__(self, options: PersonalisedExperiment, observer: Observer) -> AtNodes:
        """The venue under the experiment's seed, see `sordino.experiments.personalised.bench.make_bench`.

        Raises:
            ClientFailed: no node can take part.
            ConfigError: too few came, or one of them holds several speakers.
        """
        equipment, names = equip(options), self._names(options, observer)
        if self._nodes is None:
            digest, settings = equipment.model.layout.digest, self._settings
            self._nodes = Nodes.of(self._grid, settings, digest=digest, note=observer.note)
            self._met = _greeted(self._nodes, names, options.privacy, settings, observer.note)
        equipment.admit_all(population=len(self._met))
        return AtNodes(
            equipment=equipment,
            start=begin(equipment, observer),
            nodes=self._nodes,
            names=names,
            met=self._met,
            settings=self._settings,
            note=observer.note,
        )

    def _names(self, options: PersonalisedExperiment, observer: Observer) -> tuple[str, ...]:
        """In a simulation, those of the experiment's own speakers; elsewhere names stay at the nodes."""
        if self._settings.own_recordings:
            return ()
        splits = options.data.corpus.load(options.model.window_s)
        speakers = speakers_of(splits, options.data, Seeds(options.seed), window_s=options.model.window_s)
        for note in speakers.notes:
            observer.note(note)
        return tuple(speakers.known)


def _greeted(
    nodes: Nodes,
    names: tuple[str, ...],
    privacy: PrivacyOptions,
    settings: FlowerSettings,
    note: Callable[[str], None],
) -> Mapping[str, Greeting]:
    """The speakers that are there, one a node."""
    everybody = FlowerGrid(nodes, names=names, rate=None, measured=True, timeout_s=settings.timeout_s, note=note)
    met = everybody.greetings()
    for client, greeting in met.items():
        if greeting.recordings < 1:
            raise ConfigError(f"{client} trains on 0 utterances: expected some; give its node recordings.")
        if greeting.clients != 1:
            raise ConfigError(
                f"{client} holds {greeting.clients} speakers: expected 1, since a node answers for one speaker's own model; "
                + (
                    "start a SuperNode for each speaker, with a manifest of that speaker's recordings alone."
                    if settings.own_recordings
                    else f"leave --nodes out, or set --nodes {len(names)}."
                )
            )
    note_more_than_declared(privacy, clients=len(met), note=note)
    return met
