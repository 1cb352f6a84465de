"""Whether two systems differ beyond what chance would do to these speakers: the paired sign-flip test."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sordino.errors import DataError
from sordino.evaluation.pairing import paired_differences
from sordino.evaluation.wer import Errors

__all__ = ["SignFlip", "flipped", "sign_flip"]

_ROUNDING = 1e-9
"""Relative slack of the rounding errors of the sums of probabilities, none of which is negative."""


@dataclass(frozen=True, slots=True)
class SignFlip:
    """Outcome of a paired sign-flip test.

    Attributes:
        p: two-tailed p-value, exact.
        num_speakers: how many speakers could have been the other way round.
    """

    p: float
    num_speakers: int

    @property
    def least_p(self) -> float:
        """``2^(1 - n)``, what ``p`` is when all n speakers agree: no result could have been smaller."""
        return 2.0 ** (1 - self.num_speakers)

    def can_reject(self, level: float = 0.05, *, tests: int = 1) -> bool:
        """Whether any result of so few speakers could have been significant at ``level``.

        Args:
            level: of significance.
            tests: how many p-values `sordino.evaluation.holm` corrects together, the smallest of which it multiplies by
                their number.
        """
        return tests * self.least_p <= level


def sign_flip(first: Mapping[str, Errors], second: Mapping[str, Errors]) -> SignFlip:
    """Tests ``rate(first) = rate(second)`` by exchanging the two systems on any subset of the speakers.

    If the systems are the same, what one did on a speaker could as well have been the other's: the difference of errors
    ``d_s`` is as likely as ``-d_s``. The p-value is the share of all 2^n exchanges that make ``|sum_s d_s|`` at least as
    large as it is. All of them are counted, none is sampled. The pooled rates' denominators are equal, so that this is
    the test of their difference.

    ============================= ==================================================
    case                          result
    ============================= ==================================================
    no speaker differs            p = 1
    1 speaker                     p = 1, and none could be smaller
    5 speakers who agree          p = .0625: no 5 speakers can reject at 5 %
    6 speakers who agree          p = .03125
    ============================= ==================================================

    It needs no normal distribution, and no two speakers whose errors are alike.

    Raises:
        DataError: the two differ in speakers or in a speaker's words, or there is none.

    Source: Fisher 1935, "The Design of Experiments", section 21.
    """
    differences = paired_differences(first, second)
    if not differences:
        raise DataError("there are 0 speakers: expected at least 1 for a paired test; score at least one utterance.")
    return SignFlip(flipped(differences.values()), len(differences))


def flipped(differences: Iterable[int]) -> float:
    """Share of all choices of signs that make the sum's absolute value at least as large as it is.

    Signs are added one at a time to the distribution of the sum, which takes n sum|d| steps instead of 2^n.
    """
    values = list(differences)
    unit = math.gcd(*values) or 1
    steps = [abs(value) // unit for value in values if value]
    observed = abs(sum(values)) // unit
    chances = np.ones(1)  # [2 reach + 1]: of the sums -reach to reach, in units
    for step in steps:
        longer = np.zeros(len(chances) + 2 * step)
        longer[: len(chances)] += chances / 2
        longer[2 * step :] += chances / 2
        chances = longer
    sums = np.abs(np.arange(len(chances)) - len(chances) // 2)
    share = float(chances[sums >= observed].sum())
    return min(1.0, share) if share < 1 - _ROUNDING else 1.0
