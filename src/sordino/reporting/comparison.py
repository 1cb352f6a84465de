"""The records of a comparison as one value: variants of an experiment, each over the same seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sordino.reporting.differences import Difference
from sordino.reporting.guarantee import Guarantee, guarantee_of
from sordino.reporting.runs import Rate, Run

__all__ = ["Comparison", "Failure", "Variant"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that did not finish: its seed, its folder, which may be missing, and why."""

    seed: int
    folder: Path
    reason: str


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One row of a comparison.

    Attributes:
        label: its name.
        overrides: what it changes of the experiment, as ``key=value`` texts.
        test_is: whose speech the rates are measured on.
        rate_after: pooled over the seeds, with an interval over speakers; None where no run has a rate.
        difference: of ``rate_after`` to the reference's, paired by speaker.
        by_seed: each finished run's rate.
        seen: the rate on held-out clips of training speakers, pooled likewise; None where it was not measured.
        noise_multiplier: z; None without noise.
        runs: the finished runs by their seed.
        failures: the others.
    """

    label: str
    overrides: Sequence[str]
    test_is: str
    rate_after: Rate | None
    difference: Difference
    by_seed: Mapping[int, float]
    seen: Rate | None
    noise_multiplier: float | None
    runs: Mapping[int, Run]
    failures: Sequence[Failure]

    @property
    def first(self) -> Run | None:
        """The first finished run, which stands for what the seeds have in common."""
        return next(iter(self.runs.values()), None)

    @property
    def guarantee(self) -> Guarantee | None:
        """Of the run with the largest epsilon, or of one that has none."""
        if not self.runs:
            return None
        weakest = max(self.runs.values(), key=lambda run: math.inf if run.epsilon is None else run.epsilon)
        return guarantee_of(weakest)

    @property
    def epsilon(self) -> float | None:
        """What every one of its runs guarantees; None where one guarantees nothing."""
        figures = [run.epsilon for run in self.runs.values()]
        return max((figure for figure in figures if figure is not None), default=None) if None not in figures else None

    @property
    def unit(self) -> str:
        """Whom the guarantee protects."""
        return "" if self.first is None else self.first.unit

    @property
    def rate_before(self) -> Rate | None:
        """Of the untouched model, which does not depend on the seed unless the seed makes the model."""
        return None if self.first is None else self.first.rate_before

    @property
    def rates(self) -> Sequence[tuple[int, Rate]]:
        """Mean over the seeds in each round that all of them measured; the last one is ``rate_after``."""
        series = [dict(run.rates) for run in self.runs.values()]
        rounds = sorted(set.intersection(*(set(rates) for rates in series))) if series else []
        means = {
            number: Rate(math.fsum(rates[number].wer for rates in series) / len(series), None) for number in rounds
        }
        if self.rate_after is not None and rounds:
            means[rounds[-1]] = self.rate_after
        return sorted(means.items())


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What ``comparison.json`` and the run folders beside it say.

    Attributes:
        label: what the comparison is called.
        path: its folder.
        reference: name of the variant that differences are taken to.
        seeds: each variant was run once with each.
        overrides: what all runs change of the experiment file.
        variants: in the order in which they were asked for.
    """

    label: str
    path: Path
    reference: str
    seeds: Sequence[int]
    overrides: Sequence[str]
    variants: Sequence[Variant]

    @cached_property
    def referred(self) -> Variant:
        """The reference."""
        return next(variant for variant in self.variants if variant.label == self.reference)

    @property
    def test_is(self) -> str:
        """Whose speech the rates are measured on."""
        return next((variant.test_is for variant in self.variants if variant.test_is), "")

    @cached_property
    def finished(self) -> Sequence[Variant]:
        """Variants with a finished run."""
        return [variant for variant in self.variants if variant.runs]

    @cached_property
    def rate_before(self) -> Rate | None:
        """Of the untouched model; None where the runs do not agree on it, or did not measure it."""
        rates = [run.rate_before for variant in self.finished for run in variant.runs.values()]
        same = rates and all(rate is not None and rates[0] is not None and rate.wer == rates[0].wer for rate in rates)
        return rates[0] if same else None
