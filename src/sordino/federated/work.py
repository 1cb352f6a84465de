"""What local training costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["Work", "Works"]


@dataclass(slots=True)
class Work:
    """What was done so far, over any number of clients. Counts add up with ``+``.

    Attributes:
        steps: optimiser steps.
        passes: utterances that went forward and backward.
        heard: utterances that went forward only, for embeddings and for what a reference model makes of them.
        cpu_s: seconds of processor time, where somebody has measured it.
    """

    steps: int = 0
    passes: int = 0
    heard: int = 0
    cpu_s: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.steps + other.steps,
            self.passes + other.passes,
            self.heard + other.heard,
            self.cpu_s + other.cpu_s,
        )


@runtime_checkable
class Works(Protocol):
    """A learner that counts what it does."""

    @property
    def work(self) -> Work:
        """What it has done since it was made."""
        ...
