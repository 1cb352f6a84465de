"""MAPSSWE, the matched-pairs test on sentence segments: the usual test between two recognisers on one test set.

Errors close to each other are not independent, so that words cannot be counted as trials. Segments can: stretches with
errors of either system, apart from each other by a few words that both got right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sordino._check import at_least
from sordino.errors import DataError
from sordino.evaluation.samples import Mark, Sample, mark

__all__ = ["MANY_SEGMENTS", "MatchedPairs", "Segment", "mapsswe", "matched_pairs", "segments"]

MANY_SEGMENTS: Final = 50
"""Below this many segments a result carries a note: its p-value rests on a normal distribution."""


class Segment(NamedTuple):
    """Errors of each system in one stretch."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class MatchedPairs:
    """Outcome of the test.

    Attributes:
        p: two-tailed p-value; None where the segments do not vary, which leaves nothing to compare the mean with.
        statistic: W, standard normal if the systems are equally good; positive where the first makes more errors.
        num_segments: stretches with an error of either system.
        mean: errors that the first makes more in a segment.
        note: what to know when reading it; empty when there is nothing to add.
    """

    p: float | None
    statistic: float | None
    num_segments: int
    mean: float
    note: str = ""


def mapsswe(first: Sequence[Sample], second: Sequence[Sample], *, buffer: int = 2) -> MatchedPairs:
    """Tests whether two systems make equally many errors, on the same utterances.

    With ``Z_i`` the errors that the first makes more in segment i of n, ``mu`` their mean and ``sigma^2`` their variance
    (n - 1), ``W = mu sqrt(n) / sigma`` and ``p = 2 (1 - Phi(|W|))``.

    ================================== =========================================================
    case                               result
    ================================== =========================================================
    no errors, or the same everywhere  p = 1 (Z = 0 throughout)
    1 segment, or one Z throughout     no p, and the reason
    fewer than 50 segments             p, with the note that the normal distribution is a guess
    ================================== =========================================================

    It speaks of other sentences *of these speakers*. Whether other speakers would show the same is for
    `sordino.evaluation.sign_flip`.

    Args:
        first: transcripts of one system; the order does not matter.
        second: of the other.
        buffer: words that both systems must have right between two segments.

    Raises:
        ConfigError: ``buffer`` below 1.
        DataError: the two have other utterances, or other references.

    Source: Gillick and Cox 1989, "Some statistical issues in the comparison of speech recognition algorithms"; two
    words between segments as in NIST's scoring tools.
    """
    _require_same_references(first, second)
    return matched_pairs([mark(sample) for sample in first], [mark(sample) for sample in second], buffer=buffer)


def matched_pairs(first: Sequence[Mark], second: Sequence[Mark], *, buffer: int = 2) -> MatchedPairs:
    """`mapsswe` of errors that were counted before, maybe elsewhere.

    Args:
        first: counts of one system; the order does not matter.
        second: of the other.
        buffer: words that both systems must have right between two segments.

    Raises:
        ConfigError: ``buffer`` below 1.
        DataError: the two have other utterances, or references of other lengths.
    """
    at_least("buffer", buffer, 1)
    found = [
        segment for one, other in _paired(first, second) for segment in segments(one.slots, other.slots, buffer=buffer)
    ]
    return _tested([segment.first - segment.second for segment in found])


def segments(first: Sequence[int], second: Sequence[int], *, buffer: int = 2) -> tuple[Segment, ...]:
    """The stretches of one utterance in which either system errs, at least ``buffer`` common hits apart.

    The ends of the utterance bound a segment as well.

    Args:
        first: one system's errors, as in `Mark.slots`.
        second: the other's.
        buffer: words that both must have right between two segments.
    """
    found: list[Segment] = []
    hits = buffer  # the start of the utterance bounds like a buffer
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        if one or other:
            if hits >= buffer:
                found.append(Segment(0, 0))
            found[-1] = Segment(found[-1].first + one, found[-1].second + other)
            hits = 0
        elif place % 2:  # a word, not a gap
            hits += 1
    return tuple(found)


def _require_same_references(first: Sequence[Sample], second: Sequence[Sample]) -> None:
    others = {sample.key: sample.reference for sample in second}
    for sample in first:
        other = others.get(sample.key, sample.reference)
        if sample.reference != other:
            raise DataError(
                f"utterance {sample.key!r} has the reference {sample.reference!r} in one result and {other!r} in the other: "
                "expected equal; transcribe the same test set with both systems."
            )


def _paired(first: Sequence[Mark], second: Sequence[Mark]) -> list[tuple[Mark, Mark]]:
    others = {one.key: one for one in second}
    if {one.key for one in first} != others.keys() or not len(first) == len(second) == len(others):
        raise DataError(
            f"the two results hold {len(first)} and {len(second)} utterances that are not the same: expected each once in "
            "both; transcribe the same test set with both systems."
        )
    pairs = [(one, others[one.key]) for one in first]
    for one, other in pairs:
        if len(one.slots) != len(other.slots):
            raise DataError(
                f"utterance {one.key!r} has {one.words.words} reference words in one result and {other.words.words} in the "
                "other: expected equal; test both systems on the same recordings."
            )
    return pairs


def _tested(differences: Sequence[int]) -> MatchedPairs:
    count = len(differences)
    mean = sum(differences) / count if count else 0.0
    if not any(differences):
        return MatchedPairs(1.0, 0.0, count, 0.0, "the systems make equally many errors in every segment")
    if len(set(differences)) == 1:
        return MatchedPairs(None, None, count, mean, "no p-value: the segments do not vary")
    deviation = math.sqrt(sum((value - mean) ** 2 for value in differences) / (count - 1))
    statistic = mean * math.sqrt(count) / deviation
    few = f"only {count} segments: the normal distribution is a guess" if count < MANY_SEGMENTS else ""
    return MatchedPairs(math.erfc(abs(statistic) / math.sqrt(2)), statistic, count, mean, few)
