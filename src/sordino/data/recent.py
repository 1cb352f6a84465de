"""Results kept in memory under a bound, the recently used ones first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["Recent"]

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """A map that forgets what was not asked for the longest, once everything together is larger than a bound.

    Several threads may share one.

    Args:
        limit_bytes: most memory for what is kept; 0 keeps nothing.

    Attributes:
        bytes_kept: what it holds now.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.bytes_kept = 0
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        """What was put under ``key``, if it is still there."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is None:
                return None
            self._kept.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, value: Value, *, num_bytes: int) -> None:
        """Keeps ``value``, and lets go of others to stay within the bound."""
        with self._lock:
            if key in self._kept:  # another thread was as quick
                return
            self._kept[key] = value, num_bytes
            self.bytes_kept += num_bytes
            while self.bytes_kept > self.limit_bytes:
                self.bytes_kept -= self._kept.popitem(last=False)[1][1]
