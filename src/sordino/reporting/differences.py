"""Several runs side by side: each beside the first, on the same clips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino.evaluation import Interval, SignFlip, difference_interval
from sordino.reporting.runs import Run

__all__ = ["Difference", "PairedTest", "difference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """A sign-flip test over speakers, one of several.

    Attributes:
        p_holm: its p-value with Holm's correction for ``num_tests``.
        flips: p-value and speakers of the test itself.
        num_tests: how many were corrected together.
    """

    p_holm: float
    flips: SignFlip
    num_tests: int

    @property
    def can_reject(self) -> bool:
        """Whether so few speakers could have shown a difference at the 5 % level at all."""
        return self.flips.can_reject(tests=self.num_tests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much higher a run's error rate is than the first run's.

    Attributes:
        points: difference of the rates, a fraction; None where they cannot be compared.
        interval: 95 % paired bootstrap over the speakers of ``points``.
        why_not: why they cannot be compared; empty if they can.
        test: of ``points = 0``; None where none was made.
    """

    points: float | None
    interval: Interval
    why_not: str = ""
    test: PairedTest | None = None

    @property
    def clear(self) -> bool:
        """Whether the interval lies on one side of zero."""
        bounds = self.interval.bounds
        return bounds is not None and (bounds[0] > 0 or bounds[1] < 0)


def difference(run: Run, first: Run) -> Difference:
    """``rate(run) - rate(first)`` after adapting, if both measured the same clips."""
    reason = _incomparable(run, first)
    if reason:
        return Difference(points=None, interval=Interval(None), why_not=reason)
    report, reference = run.report_after, first.report_after
    assert report is not None and reference is not None  # noqa: S101, PT018 - _incomparable has seen to it
    interval = difference_interval(report.by_speaker, reference.by_speaker, seeds=first.bootstrap)
    return Difference(points=report.wer - reference.wer, interval=interval)


def _incomparable(run: Run, first: Run) -> str:
    for one in (run, first):
        if not one.after:
            return f"{one.label} kept no transcripts of a finished model"
    if _references(run) != _references(first):
        return "the runs measured different clips"
    return ""


def _references(run: Run) -> Sequence[tuple[str, str, str]]:
    return sorted((sample.key, sample.speaker, sample.reference) for sample in run.after)
