"""What a model made of one utterance: its text beside the reference, or only the errors in it, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sordino.evaluation.alignment import Edit, align
from sordino.evaluation.normalise import normalise
from sordino.evaluation.wer import Errors, character_errors

__all__ = ["Mark", "Sample", "mark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What was said and what the model wrote.

    Attributes:
        key: identity of the utterance, unique in a test set.
        speaker: who spoke; empty where unknown.
        reference: transcript, raw or normalised.
        hypothesis: output of the model, raw or normalised.
        language: BCP 47 tag; empty where unknown.
        client: the federation's client that holds the utterance; empty where none does.
        truncated: the length bound stopped the decoder, as it does a repeat loop.
    """

    key: str
    speaker: str
    reference: str
    hypothesis: str
    language: str = ""
    client: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The errors in a `Sample`, and nothing of what was said or written: all that reports and tests are made of.

    Attributes:
        key, speaker, language, client, truncated: as in `Sample`.
        words: word errors.
        characters: character errors.
        slots: where the word errors are: before the first word of the reference, at it, between it and the second, and
            so on. ``2 words + 1`` counts, those of insertions at even places.
    """

    key: str
    speaker: str
    words: Errors
    characters: Errors
    slots: tuple[int, ...]
    language: str = ""
    client: str = ""
    truncated: bool = False


def mark(sample: Sample) -> Mark:
    """Compares the hypothesis with the reference, both normalised alike."""
    said, written = (normalise(text, sample.language) for text in (sample.reference, sample.hypothesis))
    edits = align(said, written)
    return Mark(
        key=sample.key,
        speaker=sample.speaker,
        words=_errors(edits),
        characters=character_errors(said, written),
        slots=_slots(edits),
        language=sample.language,
        client=sample.client,
        truncated=sample.truncated,
    )


def _errors(edits: Sequence[Edit]) -> Errors:
    kinds = Counter(edit.kind for edit in edits)
    return Errors(
        substitutions=kinds["substitution"],
        deletions=kinds["deletion"],
        insertions=kinds["insertion"],
        words=len(edits) - kinds["insertion"],
    )


def _slots(edits: Sequence[Edit]) -> tuple[int, ...]:
    errors = [0]
    for edit in edits:
        if edit.kind == "insertion":
            errors[-1] += 1
        else:
            errors += [int(edit.kind != "hit"), 0]
    return tuple(errors)
