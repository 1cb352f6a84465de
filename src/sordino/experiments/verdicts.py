"""From the records of several runs to error rates over seeds, and paired differences to a reference."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sordino.evaluation import (
    Errors,
    Sample,
    WerReport,
    difference_interval,
    holm,
    pooled,
    score,
    sign_flip,
    speaker_interval,
)
from sordino.records import RunFolder
from sordino.seeds import Seeds

if TYPE_CHECKING:
    from sordino.experiments.comparison import Outcome, Variant

__all__ = ["compare_outcomes"]

_SEEDS = Seeds(0).at("comparison")


@dataclass(frozen=True, slots=True)
class _Heard:
    """What a run got wrong, and on which clips: (clip, speaker, reference) in an order of their own."""

    report: WerReport
    clips: tuple[tuple[str, str, str], ...]


def compare_outcomes(outcomes: Sequence[Outcome], *, reference: str) -> dict[str, Any]:
    """The rows of a comparison: one entry a variant under ``allocations``.

    A variant's rate pools the errors of all its finished seeds; its interval resamples speakers, each with all its seeds,
    and so says how far other speakers might be, not other seeds: for those there are the single rates. The difference to
    the reference resamples the same speakers for both, over the seeds in which both have measured the same clips; its test
    exchanges the two on any subset of those speakers, and is corrected for the number of variants that are tested. The
    epsilon is the largest of its finished seeds: what every one of them guarantees.
    """
    variants = {outcome.variant.name: outcome.variant for outcome in outcomes}
    reports = {(o.variant.name, o.seed): _report(o.folder, "after") for o in outcomes if not o.error}
    base = {seed: report for (name, seed), report in reports.items() if name == reference and report}
    rows = {name: _row(variant, outcomes, reports, base) for name, variant in variants.items()}
    return {
        "test_is": next((_result(o.folder)["wer"]["test_is"] for o in outcomes if not o.error), None),
        "allocations": _corrected(rows, reference),
    }


def _row(
    variant: Variant,
    outcomes: Sequence[Outcome],
    reports: Mapping[tuple[str, int], _Heard | None],
    base: Mapping[int, _Heard],
) -> dict[str, Any]:
    own = [outcome for outcome in outcomes if outcome.variant == variant]
    done = [outcome for outcome in own if not outcome.error]
    known = {o.seed: report for o in done if (report := reports[variant.name, o.seed])}
    seen = [report for o in done if (report := _report(o.folder, "seen"))]
    results = [_result(outcome.folder) for outcome in done]
    return {
        "overrides": list(variant.overrides),
        **_rate([heard.report for heard in known.values()]),
        **_difference(known, base),
        "before": results[0]["wer"]["before"] if results else None,
        "by_seed": {str(seed): heard.report.wer for seed, heard in known.items()},
        "seen": _rate([heard.report for heard in seen]) if seen else None,
        "epsilon": max((result["epsilon"] for result in results), key=_proven, default=None),
        "noise_multiplier": results[0]["noise_multiplier"] if results else None,
        "rounds": [result["rounds"] for result in results],
        "seconds": [result["seconds"] for result in results],
        "runs": [
            {"seed": o.seed, "run": str(o.folder.path), "failed": o.error or None}
            for o in own
        ],
    }  # fmt: skip


def _rate(reports: Sequence[WerReport]) -> dict[str, Any]:
    if not reports:
        return {"wer": None, "ci95": None}
    by_speaker = _pooled(reports)
    bounds = speaker_interval(by_speaker, seeds=_SEEDS).bounds
    return {"wer": pooled(by_speaker.values()).rate, "ci95": list(bounds) if bounds else None}


def _difference(own: Mapping[int, _Heard], base: Mapping[int, _Heard]) -> dict[str, Any]:
    both = [seed for seed in own if seed in base and own[seed].clips == base[seed].clips]
    if not both:
        return {"difference": None, "difference_ci95": None, "difference_test": None}
    ours, theirs = (_pooled([heard[seed].report for seed in both]) for heard in (own, base))
    bounds = difference_interval(ours, theirs, seeds=_SEEDS).bounds
    difference = pooled(ours.values()).rate - pooled(theirs.values()).rate
    test = sign_flip(ours, theirs)
    return {
        "difference": difference,
        "difference_ci95": list(bounds) if bounds else None,
        "difference_test": {"p": test.p, "least_p": test.least_p, "num_speakers": test.num_speakers},
    }


def _corrected(rows: Mapping[str, dict[str, Any]], reference: str) -> Mapping[str, dict[str, Any]]:
    """The rows, their tests with Holm's correction; the reference is not tested against itself."""
    tests = {name: row["difference_test"] for name, row in rows.items() if name != reference and row["difference_test"]}
    corrected = holm({name: test["p"] for name, test in tests.items()})
    added = {name: {**test, "p_holm": corrected[name], "num_tests": len(tests)} for name, test in tests.items()}
    return {name: {**row, "difference_test": added.get(name)} for name, row in rows.items()}


def _pooled(reports: Sequence[WerReport]) -> Mapping[str, Errors]:
    speakers = dict.fromkeys(speaker for report in reports for speaker in report.by_speaker)
    return {
        speaker: pooled(report.by_speaker[speaker] for report in reports if speaker in report.by_speaker)
        for speaker in speakers
    }


def _proven(epsilon: Mapping[str, Any]) -> float:
    """The least proven figure; infinity without one."""
    return min((value for name in ("pld", "rdp") if (value := epsilon[name]) is not None), default=math.inf)


def _report(folder: RunFolder, name: str) -> _Heard | None:
    """The error rates of kept transcripts; None where the run kept none."""
    samples = [Sample(**line) for line in folder.read_lines(folder.transcripts(name))]
    clips = sorted((sample.key, sample.speaker, sample.reference) for sample in samples)
    return _Heard(score(samples, seeds=_SEEDS), tuple(clips)) if samples else None


def _result(folder: RunFolder) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(folder.result.read_text(encoding="utf-8"))
    return table
