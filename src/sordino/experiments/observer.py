"""What a run tells whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Observer", "Progress", "Silent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands.

    Attributes:
        round: rounds done.
        rounds: rounds planned.
        wer: newest word error rate, as a fraction, or None.
        epsilon: guaranteed so far, or None without a guarantee.
    """

    round: int
    rounds: int
    wer: float | None
    epsilon: float | None


class Observer(Protocol):
    """Gets notes in words and the progress after each round."""

    def note(self, text: str) -> None:
        """One sentence that a user should read."""
        ...

    def progress(self, progress: Progress) -> None:
        """A round is done."""
        ...


class Silent:
    """Watches and says nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def progress(self, progress: Progress) -> None:
        """Nothing."""
