"""A party's own book: what is made of its data is charged where it is made, whoever asked for it.

Formal guarantee. The charge for a release is on disk, in a file of the party's own, before anything can be released on it.
With a limit of (epsilon, delta) nothing is released that would bring all charges in that file together above it. Both hold
whatever is asked, by whom, how often, and under which experiment: a run that asks for less noise spends more of the limit.

| what happens | then |
|---|---|
| there is no file | it is begun |
| another run, with other noise, or when there are more recordings | the same file goes on, and charges add up |
| a crash between charge and release | counted |
| a task that is done again, a run that is resumed | charged again, in seeded simulations too |
| two tasks at once | one waits while the other charges; both are charged |
| the limit was raised or lowered meanwhile | the next release meets the new one |
| the file is about something else than recordings, or about a seeded simulation where this is none | refused |
| the file was removed | nothing is known of what was released before: keep it as long as the recordings |
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sordino._check import fraction, positive
from sordino.errors import BudgetExhausted, ConfigError
from sordino.privacy.events import Event
from sordino.privacy.ledger import Ledger, Receipt, Terms

__all__ = ["Limit", "OwnLedger", "OwnReceipts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The most that a party lets go.

    Attributes:
        epsilon: of all releases together.
        delta: probability with which that may fail.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        fraction("delta", self.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLedger:
    """One party's file. It is opened for each charge: other processes add to it, and it is what they know of each other.

    Args:
        path: the file, in a folder that is there.
        terms: what the guarantee is about, where the file has yet to be begun.
        limit: the most that is released; None: no limit.
    """

    path: Path
    terms: Terms
    limit: Limit | None = None

    def begin(self) -> None:
        """Makes the file unless it is there, and sees that it can be charged.

        Raises:
            ConfigError: it cannot be written.
            PrivacyError: it is damaged, or about something else.
        """
        self._open().close()

    def charge(self, event: Event) -> Receipt:
        """Pays for one release.

        Raises:
            BudgetExhausted: that would exceed the limit; nothing is written.
            ConfigError, PrivacyError: as in `begin`.
        """
        with self._open() as ledger:
            if self.limit is not None:
                self._require(self.limit, ledger.epsilon_with(event, delta=self.limit.delta))
            return ledger.charge(event, round=len(ledger.charges) + 1)

    def _open(self) -> Ledger:
        try:
            return Ledger(self.path, terms=self.terms, lasting=True)
        except OSError as error:  # told without the path, which is nobody else's business
            raise ConfigError(
                f"the node's own ledger cannot be written ({error.strerror}): expected a file in a folder that is there; "
                "correct ledger in its SuperNode's --node-config."
            ) from None

    @staticmethod
    def _require(limit: Limit, total: float) -> None:
        if total > limit.epsilon:
            raise BudgetExhausted(
                f"another step would bring the node's own epsilon to {total:.4g}, above its limit of {limit.epsilon:g} "
                f"(delta {limit.delta:g}): expected no more steps; leave the node out, or raise epsilon in its SuperNode's "
                "--node-config."
            )


@dataclass(frozen=True, slots=True)
class OwnReceipts:
    """A charge in the party's own ledger for each of its releases, one after another.

    Args:
        ledger: is charged.
        event: what one release costs.
    """

    ledger: OwnLedger
    event: Event

    def receipt(self, party: str) -> Receipt:  # noqa: ARG002 - whose data it is, all of it is in this one book
        """That of the next release; raises what `OwnLedger.charge` does."""
        return self.ledger.charge(self.event)
