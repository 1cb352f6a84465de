"""What has gone over the wire: bytes both ways, calls, and how long answers took."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Meter", "Traffic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Totals, all counted and none estimated.

    Attributes:
        calls: answered calls.
        repeats: calls that had to be sent again, since no answer came or the server was busy.
        payload_up: bytes of the tensors that were sent, repeats included.
        payload_down: bytes of the tensors that came.
        message_up: bytes of the whole messages that were sent; what TLS and HTTP/2 add is not counted.
        message_down: the same of those that came.
        latencies_s: seconds from sending to answer, of each answered call.
    """

    calls: int = 0
    repeats: int = 0
    payload_up: int = 0
    payload_down: int = 0
    message_up: int = 0
    message_down: int = 0
    latencies_s: Sequence[float] = ()

    def to_json(self) -> dict[str, Any]:
        """For ``result.json``: totals, and latencies as median, 95 % quantile and longest, None without a call."""
        seconds = np.asarray(self.latencies_s)
        return {
            "calls": self.calls,
            "repeats": self.repeats,
            "payload": {"up": self.payload_up, "down": self.payload_down},
            "message": {"up": self.message_up, "down": self.message_down},
            "latency_s": {
                "median": float(np.median(seconds)) if seconds.size else None,
                "p95": float(np.quantile(seconds, 0.95)) if seconds.size else None,
                "longest": float(seconds.max()) if seconds.size else None,
            },
        }


class Meter:
    """Counts; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls, self._repeats = 0, 0
        self._up, self._down = [0, 0], [0, 0]
        self._latencies_s: list[float] = []

    def sent(self, *, payload: int, message: int, again: bool) -> None:
        """A message was handed to the network."""
        with self._lock:
            self._repeats += again
            self._up[0] += payload
            self._up[1] += message

    def came(self, *, payload: int, message: int, seconds: float) -> None:
        """An answer came."""
        with self._lock:
            self._calls += 1
            self._down[0] += payload
            self._down[1] += message
            self._latencies_s.append(seconds)

    def read(self) -> Traffic:
        """Totals so far."""
        with self._lock:
            return Traffic(
                calls=self._calls,
                repeats=self._repeats,
                payload_up=self._up[0],
                payload_down=self._down[0],
                message_up=self._up[1],
                message_down=self._down[1],
                latencies_s=tuple(self._latencies_s),
            )
