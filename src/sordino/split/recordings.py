"""Recordings as a client of split learning knows them: frames of the front end, labels or transcripts."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.data import Utterance
from sordino.split.sequences import Lengths

__all__ = ["Recordings"]


@dataclass(frozen=True, kw_only=True)
class Recordings(Lengths):
    """Some recordings.

    Attributes:
        utterances: what they are of, in order.
        targets: the units of each one's transcript; empty ones where labels are told.
    """

    utterances: tuple[Utterance, ...]
    targets: tuple[tuple[int, ...], ...]
