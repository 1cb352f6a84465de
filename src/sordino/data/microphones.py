"""Which recordings of an utterance count, where several microphones recorded it at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sordino._check import one_of

__all__ = ["by_preference", "preferred"]


def by_preference(name: str, text: str, known: Collection[str]) -> Sequence[str]:
    """The microphones of an option such as ``"M5,M6"``, each once.

    Raises:
        ConfigError: a microphone that the corpus does not have.
    """
    return [one_of(name, part.strip(), known) for part in dict.fromkeys(text.split(","))]


def preferred(recordings: Mapping[str, Path], order: Sequence[str], *, every: bool) -> Mapping[str, Path]:
    """The recording of the first microphone in ``order`` that has one, or with ``every`` those of all of them."""
    found = {microphone: recordings[microphone] for microphone in order if microphone in recordings}
    return found if every else dict(list(found.items())[:1])
