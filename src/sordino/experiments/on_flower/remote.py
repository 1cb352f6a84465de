"""Clients that train elsewhere: in other processes, or at sites that keep their recordings to themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sordino.data import Corpus, Splits, read_manifest, readable
from sordino.data.corpora.manifest import Manifest
from sordino.data.corpus import within_window
from sordino.errors import ConfigError, DataError
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.federated import Backend
from sordino.layout import ParameterLayout
from sordino.privacy import CohortSampler, PrivacyOptions

__all__ = [
    "UNSEEN",
    "OwnRecordings",
    "Remote",
    "TestClips",
    "note_more_than_declared",
    "require_declared",
]

UNSEEN: Final = (
    "what the server cannot see: a person whose recordings lie at several nodes counts as several, and error rates on test "
    "clips are outside the guarantee for whoever of their speakers also trains at a node"
)
"""The caveat of a run whose nodes bring their own recordings."""


@dataclass(frozen=True, kw_only=True)
class Remote:
    """How a run reaches clients in other processes.

    Attributes:
        connect: given the ids of the clients whose recordings the experiment names, and the layout of the model, finds
            them; gives the backend, and how its clients are drawn.
        own_recordings: whether they bring their own; then nobody here knows how many there are, and the population is
            what was declared.
    """

    connect: Callable[[Sequence[str], ParameterLayout], tuple[Backend, CohortSampler]]
    own_recordings: bool

    def experiment(self, options: FederatedExperiment) -> FederatedExperiment:
        """What of the experiment this process can read: all of it, or the test clips alone.

        Raises:
            ConfigError: the population is not declared, though nobody could count it.
        """
        if not self.own_recordings:
            return options
        require_declared(options.privacy)
        return replace(options, data=replace(options.data, corpus=TestClips(options.data.corpus)))


def require_declared(privacy: PrivacyOptions) -> None:
    """Raises ConfigError if the population is not declared, though nobody could count it."""
    if privacy.population is None:
        raise ConfigError(
            "privacy.population is missing: expected the number of speakers at all nodes together, which nobody can "
            "count from here; declare it."
        )


def note_more_than_declared(privacy: PrivacyOptions, *, clients: int, note: Callable[[str], None]) -> None:
    """Says so if the nodes hold more clients than were declared."""
    if privacy.population is not None and clients > privacy.population:
        note(
            f"the nodes hold {clients} clients, privacy.population declares {privacy.population}: the divisor follows the "
            "declared figure, so steps are larger than planned; declare all of them in another run."
        )


@dataclass(frozen=True, slots=True)
class TestClips(Corpus):
    """A corpus without its training speech, which is not where the server runs."""

    corpus: Corpus

    def load(self, window_s: float) -> Splits:
        """The test clips; of manifests only the test manifest is opened."""
        if not isinstance(self.corpus, Manifest):
            return replace(self.corpus.load(window_s), train=(), seen=())
        if self.corpus.test is None:
            raise ConfigError(
                "data.corpus.test is missing: expected a manifest of test clips on the server, since the recordings to "
                "train on stay at the nodes; name one."
            )
        test, notes = readable(read_manifest(self.corpus.test.expanduser()))
        if not test:
            raise DataError(f"{self.corpus.test} leaves no utterance for testing: {' '.join(notes)} add recordings.")
        return Splits(train=(), test=test, test_is="the server's test clips", notes=notes)


@dataclass(frozen=True, slots=True)
class OwnRecordings(Corpus):
    """A node's own manifest, for training, and another for testing if it has one."""

    manifest: Path
    test: Path | None = None

    def load(self, window_s: float) -> Splits:
        """The utterances that can be read; of those to train on the ones that fit into the window."""
        kept, notes = readable(read_manifest(self.manifest.expanduser()))
        train, more = within_window(kept, window_s)
        test, others = readable(read_manifest(self.test.expanduser())) if self.test else ((), ())
        return Splits(train=train, test=test, test_is="", notes=(*notes, *more, *others))
