"""Bytes of tensors, counted from those that were handed over."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sordino.records import replace_file

__all__ = ["Sent", "Tally"]


@dataclass(frozen=True, slots=True)
class Sent:
    """Bytes both ways.

    Attributes:
        up: of embeddings, lengths and gradients.
        down: of states.
    """

    up: int = 0
    down: int = 0

    def __add__(self, other: Sent) -> Sent:
        return Sent(self.up + other.up, self.down + other.down)


@dataclass(frozen=True, slots=True)
class Tally:
    """What went beside the exchanges of a run, which count themselves: gradients, fresh draws, written tokens.

    Attributes:
        path: holds the total, so that a run that goes on knows of its earlier processes; None keeps it in memory alone.
    """

    path: Path | None = None
    _memory: list[Sent] = field(default_factory=list)

    def add(self, sent: Sent) -> None:
        """Counts what is about to go."""
        total = self.total + sent
        if self.path is None:
            self._memory[:] = [total]
        else:
            replace_file(self.path, (json.dumps(asdict(total)) + "\n").encode())

    @property
    def total(self) -> Sent:
        """Everything so far."""
        if self.path is None:
            return self._memory[0] if self._memory else Sent()
        return Sent(**json.loads(self.path.read_text(encoding="utf-8"))) if self.path.exists() else Sent()
