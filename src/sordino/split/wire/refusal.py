"""How a server says no."""

from __future__ import annotations

from typing import Final

import grpc

__all__ = ["RETRY_AFTER", "Refusal", "busy"]

RETRY_AFTER: Final = "retry-after-ms"
"""Trailing metadata of a refusal that time mends."""

_LONGEST: Final = 1000
"""Characters: a status travels in a header, which has little room."""


class Refusal(Exception):
    """A call that is not answered.

    Attributes:
        code: gRPC's status.
        reason: for the client.
        wait_s: when to come again; None if that would not help.
    """

    def __init__(self, code: grpc.StatusCode, reason: str, *, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.code, self.reason, self.wait_s = code, reason[:_LONGEST], wait_s

    @property
    def trailing(self) -> tuple[tuple[str, str], ...]:
        """Metadata that say when to come again."""
        return () if self.wait_s is None else ((RETRY_AFTER, str(int(1000 * self.wait_s) + 1)),)


def busy(limit: str, wait_s: float) -> Refusal:
    """The refusal of a client that asks too often or too much at once."""
    return Refusal(
        grpc.StatusCode.RESOURCE_EXHAUSTED, f"the server has {limit} for each client; ask later", wait_s=wait_s
    )
