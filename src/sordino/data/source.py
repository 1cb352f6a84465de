"""What a source is: a layout of folders and transcripts that recordings come in, read into utterances."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from sordino._registry import Registry
from sordino.data.utterance import Utterance

__all__ = ["SOURCES", "SPLIT", "TO_END", "LeftOut", "Source"]

SPLIT: Final = "split"
"""Attribute of utterances that a corpus itself assigns to train, dev, test or the like."""

TO_END: Final = math.inf
"""``duration_s`` of an utterance that goes to the end of its recording and has not been measured."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A recording that cannot be used.

    Attributes:
        audio: the recording.
        kind: one word for tallies, e.g. ``"silent"``.
        reason: what was found, as the end of a sentence about the recording.
    """

    audio: Path
    kind: str
    reason: str


class Source(ABC):
    """A layout of recordings; a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    @abstractmethod
    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Finds every recording with its transcript and speaker, one after another, without opening the audio.

        ``duration_s`` is `TO_END` unless the layout says where in a recording the utterance lies. A recording that the
        layout says nothing usable about is `LeftOut`, never skipped. Where the corpus has splits, `SPLIT` is an attribute.

        Raises:
            DataError: the folder is not laid out like this at all.
        """


SOURCES: Registry[Source] = Registry("kind of recordings", package="sordino.data.sources")
"""All layouts that ``sordino data prepare`` reads, by name."""
