"""What local training costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

__all__ = ["Work", "Works", "counted"]

T = TypeVar("T")


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


def counted(learner: object, act: Callable[[], T]) -> tuple[T, Work]:
    """What ``act`` gives, and what the learner did for it; processor time alone if it does not count."""
    before, started = _done(learner), time.process_time()
    result = act()
    took, after = time.process_time() - started, _done(learner)
    return result, Work(
        after.steps - before.steps,
        after.passes - before.passes,
        after.heard - before.heard,
        took,
    )


def _done(learner: object) -> Work:
    return replace(learner.work) if isinstance(learner, Works) else Work()
