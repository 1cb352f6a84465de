"""What a run tells whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Observer", "Progress", "Silent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands.

    Attributes:
        round: rounds done, or whatever ``unit`` says.
        rounds: rounds planned.
        wer: newest word error rate, as a fraction, or None.
        measured: the round that it was measured after.
        epsilon: guaranteed so far, or None without a guarantee.
        unit: what is counted.
        figures: what there is to see instead of the error rate and epsilon, in words.
    """

    round: int
    rounds: int
    wer: float | None = None
    measured: int | None = None
    epsilon: float | None = None
    unit: str = "round"
    figures: str = ""

    @property
    def words(self) -> str:
        """The newest figures."""
        if self.figures:
            return self.figures
        wer = "-" if self.wer is None else f"{100 * self.wer:.1f} %"
        if self.measured not in (None, self.round):  # else a line reads as if every round had been measured
            wer += f" at round {self.measured}"
        return f"WER {wer}  {'no guarantee' if self.epsilon is None else f'epsilon {self.epsilon:.2f}'}"


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
