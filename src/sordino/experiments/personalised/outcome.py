"""What comes of a method: what its models got wrong, and what that took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sordino.evaluation import Mark, Sample

__all__ = ["DEVELOPMENT", "NEW", "TEST", "Cost", "Heard", "Outcome"]

TEST: Final = ""
"""Ends the name of the transcripts of test utterances."""

DEVELOPMENT: Final = "-development"
"""Of utterances that options may be chosen by."""

NEW: Final = "-new"
"""Of the test utterances of speakers who never trained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a method took, all clients together.

    Attributes:
        rounds: that were done; 0 where there are none.
        passes: over a client's own utterances, forward and backward, on average over the clients.
        steps: optimiser steps.
        examples: utterances forward and backward.
        heard: utterances forward only, for embeddings and for what a reference model makes of them.
        bytes_up: that clients sent; what came back to them is ``bytes_down``. The start, which everybody is given once, is
            in neither.
        cpu_s: seconds of processor time of the training.
    """

    rounds: int = 0
    passes: float = 0.0
    steps: int = 0
    examples: int = 0
    heard: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What speakers' models made of their held-out utterances.

    Attributes:
        test: errors in the test utterances.
        development: errors in those that options may be chosen by.
        transcripts: what was written, by the ending of its name; none where that stays with the speakers.
    """

    test: Sequence[Mark]
    development: Sequence[Mark]
    transcripts: Mapping[str, Sequence[Sample]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a method.

    Attributes:
        cost: what it took.
        heard: what the clients' models made of their utterances.
        charges: its first charge in the ledger, and one past its last.
        new: errors of new speakers' models in their test utterances.
        new_passes: over a new speaker's own utterances, forward and backward, on average; not in ``cost``.
    """

    cost: Cost
    heard: Heard
    charges: tuple[int, int]
    new: Sequence[Mark] = ()
    new_passes: float = 0.0
