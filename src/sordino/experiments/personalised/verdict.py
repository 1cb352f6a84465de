"""From all methods' errors to error rates by speaker and group, and to tests that say what they can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sordino.evaluation import (
    Errors,
    Mark,
    WerReport,
    difference_interval,
    holm,
    matched_pairs,
    pool,
    pooled,
    sign_flip,
    speaker_interval,
)
from sordino.seeds import Seeds

__all__ = ["differences", "rates"]

_SEEDS = Seeds(0).at("comparison")
_LEVEL = 0.05


def rates(repeated: Sequence[Sequence[Mark]], groups: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Word error rates of a method's models, each speaker having been heard by their own.

    Args:
        repeated: the errors in all speakers' utterances, once under each seed; they are pooled.
        groups: the speakers of each group; those of none, under an empty name, are left out.

    Returns:
        ``wer``, ``ci95`` (over speakers), ``by_group``, ``by_speaker``, ``worst_speaker`` and ``cer``.
    """
    report = _report(repeated)
    worst = report.worst_speaker
    return {
        "wer": report.wer,
        "ci95": list(report.ci95) if report.ci95 else None,
        "cer": report.cer,
        "by_group": {group: _group(report, speakers) for group, speakers in groups.items() if group},
        "by_speaker": {name: _rate(errors) for name, errors in report.by_speaker.items()},
        "worst_speaker": {"speaker": worst, "wer": report.by_speaker[worst].rate},
    }


def _report(repeated: Sequence[Sequence[Mark]]) -> WerReport:
    told_apart = [replace(mark, key=f"{place}: {mark.key}") for place, marks in enumerate(repeated) for mark in marks]
    return pool(told_apart, seeds=_SEEDS)


def _group(report: WerReport, speakers: Sequence[str]) -> dict[str, Any]:
    own = {name: report.by_speaker[name] for name in speakers if name in report.by_speaker}
    bounds = speaker_interval(own, seeds=_SEEDS).bounds if any(errors.words for errors in own.values()) else None
    return {
        "wer": _rate(pooled(own.values())),
        "ci95": list(bounds) if bounds else None,
        "speakers": len(own),
    }


def _rate(errors: Errors) -> float | None:
    return errors.rate if errors.words else None


def differences(marked: Mapping[str, Sequence[Sequence[Mark]]], *, baseline: str) -> dict[str, Any]:
    """Every method against the baseline, on the same utterances of the same speakers.

    Two questions, each corrected by Holm over the methods: would other speakers show the difference (exact sign-flip over
    speakers, and a paired bootstrap interval, errors pooled over seeds); and would other sentences of these speakers
    (MAPSSWE, two-tailed, under the first seed alone: the same sentences under another seed are no others).

    Args:
        marked: each method's errors, once under each seed.
        baseline: the method that differences are taken to.

    Returns:
        ``baseline``, ``level``, ``sign_flip_least_p`` (what the smallest corrected p could be at best),
        ``sign_flip_can_reject``, and for each other method under ``methods`` its ``difference`` (negative: fewer errors than
        the baseline), ``ci95``, ``sign_flip`` and ``mapsswe``.
    """
    reports = {name: _report(repeated) for name, repeated in marked.items()}
    base, others = reports[baseline], [name for name in marked if name != baseline]
    flips = {name: sign_flip(reports[name].by_speaker, base.by_speaker) for name in others}
    pairs = {name: matched_pairs(marked[name][0], marked[baseline][0]) for name in others}
    flip_holm = holm({name: flip.p for name, flip in flips.items()})
    pair_holm = holm({name: pair.p for name, pair in pairs.items() if pair.p is not None})
    least = min((min(1.0, len(others) * flip.least_p) for flip in flips.values()), default=1.0)
    return {
        "baseline": baseline,
        "level": _LEVEL,
        "sign_flip_least_p": least,
        "sign_flip_can_reject": least <= _LEVEL,
        "methods": {
            name: {
                "difference": reports[name].wer - base.wer,
                "ci95": _bounds(reports[name], base),
                "speakers_better": _better(reports[name], base),
                "sign_flip": {"p": flips[name].p, "p_holm": flip_holm[name]},
                "mapsswe": {**asdict(pairs[name]), "p_holm": pair_holm.get(name)},
            }
            for name in others
        },
    }


def _bounds(own: WerReport, base: WerReport) -> list[float] | None:
    bounds = difference_interval(own.by_speaker, base.by_speaker, seeds=_SEEDS).bounds
    return list(bounds) if bounds else None


def _better(own: WerReport, base: WerReport) -> dict[str, int]:
    """How many speakers have fewer errors than under the baseline, and how many more."""
    changes = [own.by_speaker[name].total - errors.total for name, errors in base.by_speaker.items()]
    return {"fewer": sum(change < 0 for change in changes), "more": sum(change > 0 for change in changes)}
