"""How much one client may ask of a server: in a message, in a minute, and at the same time."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sordino._check import at_least, positive
from sordino.config import option
from sordino.errors import ConfigError, DataError
from sordino.split.wire.batches import Batch

__all__ = ["Allowance", "Limits"]

_MIB: Final = 1 << 20
_MINUTE_S: Final = 60.0
_ENVELOPE: Final = 4096
"""Bytes that are allowed for a message's head, beside its tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a server; those that name a client hold for each token holder by itself.

    A message is refused before it is read if it is too large, or if its sender asks too often. A batch is refused before it
    is computed. The client reads the limits from the server, and cuts its batches to fit.
    """

    max_message_mib: float = option("Largest message, either way, in MiB.", 64.0)
    max_batch: int = option("Most sequences of a batch.", 64)
    max_tokens: int = option("Most tokens of a sequence; the model's own limit holds besides.", 2048)
    max_places: int = option("Most places of a batch: sequences times the longest one, padding included.", 32_768)
    calls_per_minute: int = option("Calls of one client a minute.", 3000)
    places_per_minute: int = option("Places of one client a minute, padding included.", 2_000_000)
    calls_at_once: int = option("Calls of one client at the same time; they are computed one after the other.", 4)
    growths_at_once: int = option("Batches of growing sequences that are kept for one client.", 4)
    growth_idle_s: float = option("Seconds after which growing sequences that nobody extends are forgotten.", 300.0)
    read_s: float = option("Seconds in which a message must have arrived.", 120.0)
    grace_s: float = option("Seconds that calls may still take when the server is told to end.", 10.0)

    def __post_init__(self) -> None:
        for name in (field.name for field in dataclasses.fields(self)):
            positive(name, getattr(self, name)) if name.endswith(("_mib", "_s")) else at_least(
                name, getattr(self, name), 1
            )
        if self.places_per_minute < self.max_places:
            raise ConfigError(
                f"places_per_minute = {self.places_per_minute}: expected at least max_places = {self.max_places}, or the "
                "largest batch could never be sent; raise it, or lower max_places."
            )

    @property
    def max_bytes(self) -> int:
        """Largest message."""
        return int(self.max_message_mib * _MIB)

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Limits:
        """What a server said of itself.

        Raises:
            DataError: it said something else.
        """
        kinds = {field.name: (int,) if field.type == "int" else (int, float) for field in dataclasses.fields(cls)}
        if table.keys() != kinds.keys() or any(type(table[name]) not in kinds[name] for name in kinds):
            raise DataError(
                f"the server's limits are {sorted(table)}, not {sorted(kinds)}; let both sides run the same version."
            )
        return cls(**table)

    def excess(self, batch: Batch) -> str:
        """What is too much about a batch, in words; empty if nothing is."""
        found = {
            "max_batch": len(batch.lengths),
            "max_tokens": max(batch.lengths),
            "max_places": batch.places,
        }
        for name, value in found.items():
            if value > getattr(self, name):
                return f"{name} = {getattr(self, name)}, and the batch has {value}"
        size = max(batch.bytes) + _ENVELOPE
        if size > self.max_bytes:
            return (
                f"max_message_mib = {self.max_message_mib:g}, and a message of the batch would have {size / _MIB:.1f}"
            )
        return ""


class Allowance:
    """A quantity that fills up with time, and from which each use is taken.

    Args:
        per_minute: how much comes in a minute; so much can also be taken at once, after a minute's rest.
        clock: seconds.
    """

    def __init__(self, per_minute: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._left, self._seen_s = per_minute, clock()

    def take(self, amount: float) -> float:
        """Takes it if it is there and gives 0; otherwise takes nothing and gives the seconds until it will be there."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._seen_s) * self._most / _MINUTE_S)
        self._seen_s = now
        if amount <= self._left:
            self._left -= amount
            return 0.0
        return (amount - self._left) * _MINUTE_S / self._most
