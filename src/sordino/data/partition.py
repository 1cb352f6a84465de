"""Who the clients of a federation are: a rule that deals utterances out to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sordino._check import at_least, did_you_mean
from sordino._registry import Registry
from sordino.config import option
from sordino.data.collector import without_collector
from sordino.data.utterance import Utterance
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds

__all__ = ["PARTITIONS", "ByAttribute", "BySession", "BySpeaker", "Client", "Partition"]


@dataclass(frozen=True, slots=True)
class Client:
    """One participant and the utterances that never leave it.

    Attributes:
        id: name of the client, unique in its federation.
        speaker: whose utterances they are; ``""`` where several people share the client.

    Raises:
        DataError: there is no utterance.
    """

    id: str
    speaker: str
    utterances: tuple[Utterance, ...]

    def __post_init__(self) -> None:
        if not self.utterances:
            raise DataError(f"client {self.id!r} has no utterance; give it at least one or leave it out.")


class Partition(ABC):
    """Deals utterances out to clients; a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def clients_per_speaker(self) -> int | None:
        """The most clients that one speaker can own; None where a client may hold several speakers.

        A speaker's guarantee follows from it, so every rule must say so itself.
        """

    def __call__(self, utterances: Iterable[Utterance], seeds: Seeds) -> list[Client]:
        """See `deal`."""
        with without_collector():
            return self.deal(utterances, seeds)

    @abstractmethod
    def deal(self, utterances: Iterable[Utterance], seeds: Seeds) -> list[Client]:
        """The clients, sorted by id; each utterance goes to exactly one of them.

        Raises:
            DataError: a client would have no utterance, or an utterance belongs to none.
        """


PARTITIONS: Registry[Partition] = Registry("partition")
"""All partitions by name."""


def _grouped(pairs: Iterable[tuple[str, Utterance]]) -> Mapping[str, Sequence[Utterance]]:
    groups: dict[str, list[Utterance]] = {}
    for name, utterance in pairs:
        groups.setdefault(name, []).append(utterance)
    return dict(sorted(groups.items()))


def _client(name: str, utterances: Sequence[Utterance]) -> Client:
    speakers = {utterance.speaker for utterance in utterances}
    return Client(name, speakers.pop() if len(speakers) == 1 else "", tuple(utterances))


@PARTITIONS.register("speaker")
@dataclass(frozen=True, slots=True)
class BySpeaker(Partition):
    """Each speaker is one client."""

    @property
    def clients_per_speaker(self) -> int | None:
        """One."""
        return 1

    def deal(self, utterances: Iterable[Utterance], seeds: Seeds) -> list[Client]:  # noqa: ARG002
        groups = _grouped((utterance.speaker, utterance) for utterance in utterances)
        return [_client(name, group) for name, group in groups.items()]


@PARTITIONS.register("attribute")
@dataclass(frozen=True, slots=True)
class ByAttribute(Partition):
    """Utterances with the same value of an attribute form one client, e.g. one clinic or one language."""

    attribute: str = option("Attribute whose values are the clients: a manifest's key, or speaker or language.")

    def deal(self, utterances: Iterable[Utterance], seeds: Seeds) -> list[Client]:  # noqa: ARG002
        groups = _grouped((self._value(utterance), utterance) for utterance in utterances)
        return [_client(name, group) for name, group in groups.items()]

    @property
    def clients_per_speaker(self) -> int | None:
        """Unknown: people share clients."""
        return None

    def _value(self, utterance: Utterance) -> str:
        known = {**utterance.attributes, "speaker": utterance.speaker, "language": utterance.language}
        if not known.get(self.attribute):
            near = did_you_mean(self.attribute, known)
            raise DataError(
                f"{utterance.audio} has no attribute {self.attribute!r}{near}; give every line of the manifest one, "
                "or choose another data.partition.attribute."
            )
        return known[self.attribute]


@PARTITIONS.register("sessions")
@dataclass(frozen=True, slots=True)
class BySession(Partition):
    """Each speaker's utterances are dealt at random into equally many sessions, and each session is one client.

    A speaker who owns several clients has less privacy than each of them; reports state both.
    """

    per_speaker: int = option("Sessions each speaker's utterances are dealt into.")

    def __post_init__(self) -> None:
        at_least("data.partition.per_speaker", self.per_speaker, 1)

    @property
    def clients_per_speaker(self) -> int | None:
        """The number of sessions."""
        return self.per_speaker

    def deal(self, utterances: Iterable[Utterance], seeds: Seeds) -> list[Client]:
        clients = []
        for speaker, group in _grouped((utterance.speaker, utterance) for utterance in utterances).items():
            order = seeds.at("sessions", speaker).generator().permutation(len(group))
            for session in range(self.per_speaker):
                dealt = sorted(order[session :: self.per_speaker])
                name = f"{speaker}/{session:0{len(str(self.per_speaker - 1))}d}"
                if not dealt:
                    raise DataError(
                        f"client {name!r} has no utterance: speaker {speaker!r} has {len(group)} for "
                        f"{self.per_speaker} sessions; lower data.partition.per_speaker or leave the speaker out."
                    )
                clients.append(Client(name, speaker, tuple(group[index] for index in dealt)))
        if len({client.id for client in clients}) != len(clients):
            raise ConfigError("two clients have the same id; rename the speakers whose names contain '/'.")
        return clients
