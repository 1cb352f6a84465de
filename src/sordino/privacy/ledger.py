"""The write-ahead book of everything released. A charge is on disk before what it pays for leaves memory.

``ledger.jsonl`` holds one line of terms, then one line a charge. A crash can leave a charge whose release never happened:
the ledger may count too much, never too little. Anybody can recompute the guarantee from this file alone.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from sordino._faults import fault_point
from sordino.errors import BudgetExhausted, ConfigError, PrivacyError
from sordino.privacy.accounting import guaranteed
from sordino.privacy.events import Event
from sordino.privacy.joint import joint

__all__ = ["Charge", "Ledger", "Receipt", "Terms", "read_ledger"]

Unit = Literal["speaker", "client", "person", "sequence", "token", "recording", "frame"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a guarantee is about, apart from what was released.

    Attributes:
        unit: whom adjacency protects.
        population: K, the declared number of clients.
        clients_per_speaker: the most clients that one speaker owns.
        delta: probability with which the bound may fail.
        budget: epsilon that the run may not exceed, or None.
        seeded: noise and cohorts come from a seed: a simulation, in which nothing is protected.
        caveats: releases that no epsilon covers, in words.
    """

    unit: Unit
    population: int
    clients_per_speaker: int
    delta: float
    budget: float | None = None
    seeded: bool = False
    caveats: tuple[str, ...] = ()

    @property
    def multiplicity(self) -> int:
        """How many clients the protected unit may own."""
        return self.clients_per_speaker if self.unit == "speaker" else 1


@dataclass(frozen=True, slots=True)
class Charge:
    """One line of the ledger."""

    round: int
    event: Event


class Receipt:
    """Proof that one event is in the ledger. Good for one release of that event, with the randomness that it states."""

    __slots__ = ("_event", "_ledger", "_seeded", "_spent")

    def __init__(self, event: Event, *, ledger: Ledger) -> None:
        if not isinstance(ledger, Ledger):
            raise PrivacyError("a receipt was made without a ledger; get one from ledger.charge(event).")
        self._event, self._ledger, self._seeded, self._spent = event, ledger, ledger.terms.seeded, False

    def spend(self, event: Event, *, seeded: bool) -> None:
        """Uses the receipt up; raises PrivacyError if it was used before or paid for something else.

        Args:
            event: what is released.
            seeded: whether its noise comes from a seed. A ledger of fresh noise would lie about it; a seeded one would
                take a repeated round for a replay that costs nothing.
        """
        if seeded != self._seeded:
            kinds = {True: "a seeded simulation", False: "fresh randomness"}
            raise PrivacyError(
                f"the ledger states {kinds[self._seeded]}, the noise is of {kinds[seeded]}; make both follow "
                "simulation.seeded."
            )
        if self._spent:
            raise PrivacyError("this receipt has paid for a release already; charge the ledger for each release.")
        if event != self._event:
            raise PrivacyError(
                f"the receipt is for {self._event}, the release is {event}; charge the plan's own event."
            )
        self._spent = True

    def divide(self, events: Sequence[Event]) -> tuple[Receipt, ...]:
        """One receipt for each phase of a round that was charged as one event; uses this one up.

        Args:
            events: what the phases cost by themselves.

        Raises:
            PrivacyError: together they are another event than this receipt's, or it was used before.
        """
        self.spend(joint(events), seeded=self._seeded)
        return tuple(Receipt(event, ledger=self._ledger) for event in events)


class Ledger:
    """An open ledger file, locked against a second writer.

    Args:
        path: ``ledger.jsonl``; made with ``terms`` if absent, otherwise continued under the same terms.
        terms: what the guarantee is about.
        lasting: the file is no single run's: whoever writes it does so for a moment, and is waited for; and of the terms
            that it was begun under, which stay, only unit and kind of randomness have to be these.

    Raises:
        PrivacyError: the file is in use, damaged, or was begun under other terms.
    """

    def __init__(self, path: Path, *, terms: Terms, lasting: bool = False) -> None:
        self.path, self._lasting = path, lasting
        self._file = path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | (0 if lasting else fcntl.LOCK_NB))
        except OSError:
            self._file.close()
            raise PrivacyError(f"{path} is in use by another run; wait for it, or choose another --out.") from None
        try:
            self.terms, self._charges = self._begin(terms) if path.stat().st_size == 0 else self._continue(terms)
        except BaseException:
            self._file.close()
            raise
        # Only what earlier processes charged can be drawn again, each once: a second release in this one is a new draw.
        self._replays = Counter(self._charges if terms.seeded else ())

    def _begin(self, terms: Terms) -> tuple[Terms, list[Charge]]:
        self._append({"ledger": 1, "terms": dataclasses.asdict(terms)})
        _sync_folder(self.path.parent)
        return terms, []

    def _continue(self, terms: Terms) -> tuple[Terms, list[Charge]]:
        begun, charges, whole = _parse(self.path, self.path.read_bytes())
        if self._lasting:
            terms = dataclasses.replace(begun, unit=terms.unit, seeded=terms.seeded)
        if begun != terms:
            resume = "resume with the settings of the run, or begin another one with --out"
            remedy = "name another file" if self._lasting else resume
            raise PrivacyError(f"{self.path} was begun under {_differences(begun, terms)}; {remedy}.")
        self._file.truncate(whole)  # a torn last line was never confirmed, so nothing was released on it
        return begun, charges

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Releases the file and its lock."""
        self._file.close()

    @property
    def charges(self) -> Sequence[Charge]:
        """All charges so far, those of earlier processes included."""
        return tuple(self._charges)

    @property
    def events(self) -> list[Event]:
        """The events of all charges."""
        return [charge.event for charge in self._charges]

    def epsilon_with(self, event: Event, *, delta: float) -> float:
        """What all charges and this one together would prove; infinite if that is nothing."""
        value = guaranteed([*self.events, event], delta=delta, multiplicity=self.terms.multiplicity).value
        return math.inf if value is None else value

    def require(self, event: Event, *, round: int) -> None:  # noqa: A002 - the domain's word
        """Raises BudgetExhausted if charging this event would exceed the budget; writes nothing."""
        if self.terms.budget is None or self._replays[Charge(round, event)]:
            return
        total = self.epsilon_with(event, delta=self.terms.delta)
        if total > self.terms.budget:
            raise BudgetExhausted(
                f"another round would bring epsilon to {total:.4g}, above the budget of {self.terms.budget:g} "
                f"(delta {self.terms.delta:g}); raise privacy.epsilon or use what was trained so far."
            )

    def charge(self, event: Event, *, round: int) -> Receipt:  # noqa: A002
        """Writes the charge to disk (fsync), then hands out the receipt.

        In a seeded simulation a round that an earlier process charged is a replay of the very same draw: it is not
        charged twice.

        Raises:
            BudgetExhausted: the total would exceed the budget; nothing is written.
        """
        charge = Charge(round, event)
        if self._replays[charge]:
            self._replays[charge] -= 1
            return Receipt(event, ledger=self)
        self.require(event, round=round)
        self._append({"charge": len(self._charges) + 1, "round": round, "on": _today(), "event": event.to_json()})
        self._charges.append(charge)
        return Receipt(event, ledger=self)

    def _append(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, allow_nan=False).encode() + b"\n")
        fault_point("charge.before-fsync")
        self._file.flush()
        os.fsync(self._file.fileno())
        fault_point("charge.after-fsync")


def read_ledger(path: Path) -> tuple[Terms, Sequence[Charge]]:
    """The terms and charges of a ledger file, read only.

    Raises:
        PrivacyError: no ledger there, or a line that is not whole and not the last.
    """
    if not path.is_file():
        raise PrivacyError(
            f"{path} does not exist; name the folder of a run, which holds ledger.jsonl, or a ledger file."
        )
    terms, charges, _ = _parse(path, path.read_bytes())
    return terms, charges


def _parse(path: Path, content: bytes) -> tuple[Terms, list[Charge], int]:
    """Terms, charges and the length of the confirmed part."""
    whole = content.rfind(b"\n") + 1
    charges: list[Charge] = []
    terms: Terms | None = None
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            table = json.loads(line)
            if number == 1:
                fields = table["terms"]
                terms = Terms(**{**fields, "caveats": tuple(fields["caveats"])})
            else:
                charges.append(Charge(int(table["round"]), Event.from_json(table["event"])))
        except (PrivacyError, ConfigError) as error:
            raise PrivacyError(f"{path}, line {number}: {error}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise PrivacyError(
                f"{path}, line {number}: not a line that a ledger writes; restore the file from a copy, since without it "
                "what was released cannot be stated."
            ) from None
    if terms is None:
        raise PrivacyError(f"{path} has no terms in its first line; restore the file from a copy.")
    return terms, charges, whole


def _differences(old: Terms, new: Terms) -> str:
    pairs = [(f.name, getattr(old, f.name), getattr(new, f.name)) for f in dataclasses.fields(Terms)]
    return ", ".join(f"{name} = {was!r} (now {now!r})" for name, was, now in pairs if was != now)


def _today() -> str:
    """The date alone: how long a round took would tell how many took part, and how much they said."""
    return datetime.now(UTC).date().isoformat()


def _sync_folder(folder: Path) -> None:
    """Makes a new file's name durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
