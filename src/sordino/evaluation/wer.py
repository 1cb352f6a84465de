"""Word and character errors, counted once an utterance and pooled by adding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import jiwer

from sordino.errors import DataError

__all__ = ["Errors", "character_errors", "pooled", "word_errors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Edits that turn references into hypotheses. Counts of several utterances add up with ``+``.

    Attributes:
        substitutions: words replaced.
        deletions: words of the reference that the hypothesis lacks.
        insertions: words of the hypothesis that the reference lacks.
        words: words of the reference. From `character_errors` all four count characters.
    """

    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0
    words: int = 0

    def __add__(self, other: Errors) -> Errors:
        return Errors(
            substitutions=self.substitutions + other.substitutions,
            deletions=self.deletions + other.deletions,
            insertions=self.insertions + other.insertions,
            words=self.words + other.words,
        )

    @property
    def total(self) -> int:
        """Substitutions, deletions and insertions together."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """``total / words``, a fraction, above 1 where insertions abound.

        Raises:
            DataError: the references hold no words, so there is nothing to divide by.
        """
        if self.words == 0:
            raise DataError(
                f"the references hold 0 words (and the hypotheses {self.insertions}): expected at least 1 for an error "
                "rate; give references with text."
            )
        return self.total / self.words


def pooled(errors: Iterable[Errors]) -> Errors:
    """The sum: long utterances weigh more than short ones, and insertions into silence count."""
    return sum(errors, Errors())


def word_errors(reference: str, hypothesis: str) -> Errors:
    """Compares the words of two normalised texts, by the fewest edits.

    ============================ =====================================
    reference, hypothesis        result
    ============================ =====================================
    both empty                   no errors, 0 words
    empty, n words               n insertions, 0 words
    n words, empty               n deletions, n words
    ============================ =====================================
    """
    return _errors(jiwer.process_words(reference, hypothesis))


def character_errors(reference: str, hypothesis: str) -> Errors:
    """Compares the characters of two normalised texts, spaces between words included."""
    return _errors(jiwer.process_characters(reference, hypothesis))


def _errors(output: jiwer.WordOutput | jiwer.CharacterOutput) -> Errors:
    return Errors(
        substitutions=output.substitutions,
        deletions=output.deletions,
        insertions=output.insertions,
        words=output.hits + output.substitutions + output.deletions,
    )
