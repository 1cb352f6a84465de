"""What the page of a comparison shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sordino.reporting.comparison import Comparison
from sordino.reporting.comparison_table import comparison_table
from sordino.reporting.figures import (
    Plate,
    clipping_dynamics,
    effective_noise,
    norm_ratio,
    norms_by_group,
    signal_to_noise_by_variant,
    wer_against_epsilon,
    wer_by_round,
    wer_by_variant,
)
from sordino.reporting.tables import Table

__all__ = ["ComparisonView"]


@dataclass(frozen=True)
class ComparisonView:
    """Table and figures of a comparison; drawn when first asked for."""

    comparison: Comparison

    @cached_property
    def table(self) -> Table:
        return comparison_table(self.comparison)

    @property
    def failures(self) -> Mapping[tuple[str, str], Sequence[int]]:
        """Seeds that failed, by variant and reason."""
        found: dict[tuple[str, str], list[int]] = {}
        for variant in self.comparison.variants:
            for failure in variant.failures:
                found.setdefault((variant.label, failure.reason), []).append(failure.seed)
        return found

    @property
    def seeded(self) -> bool:
        """Whether some run's noise can be repeated."""
        runs = [run for variant in self.comparison.finished for run in variant.runs.values()]
        return any(run.statement is not None and run.statement.terms.seeded for run in runs)

    @property
    def versions(self) -> Sequence[str]:
        """Of everything that computed a run, each once."""
        results = [run.result for variant in self.comparison.finished for run in variant.runs.values()]
        named = (f"{name} {number}" for one in results if one is not None for name, number in one.versions.items())
        return list(dict.fromkeys(named))

    @cached_property
    def rate_plates(self) -> Sequence[Plate]:
        comparison, finished = self.comparison, self.comparison.finished
        plates = [wer_by_variant(comparison), wer_by_round(finished, seeds=len(comparison.seeds))]
        if len({variant.epsilon for variant in finished}) > 1:
            plates.append(wer_against_epsilon(finished))
        return [plate for plate in plates if plate is not None]

    @cached_property
    def diagnosis_plates(self) -> Sequence[Plate]:
        finished, first = self.comparison.finished, self.comparison.referred.first
        plates = [
            None if first is None else norms_by_group(first),
            clipping_dynamics(finished),
            norm_ratio(finished),
            signal_to_noise_by_variant(finished),
            effective_noise(finished),
        ]
        return [plate for plate in plates if plate is not None]

    @property
    def plates(self) -> Sequence[Plate]:
        return [*self.rate_plates, *self.diagnosis_plates]
