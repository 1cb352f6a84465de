"""Word error rates of parts of the test set, before and after, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sordino.evaluation import Errors, Sample, normalise, pooled, speaker_interval, word_errors
from sordino.reporting.runs import Run
from sordino.seeds import Seeds

__all__ = ["UNKNOWN", "GroupRate", "by_language", "by_speaker"]

UNKNOWN: Final = "(unknown)"
"""How clips without a label are called."""

_RESAMPLES: Final = 2_000
"""Draws for the interval of one group: their ends move by a few tenths of a point at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRate:
    """One speaker or language.

    Attributes:
        name: of the group.
        words: reference words of its clips.
        clips: how many they are.
        before: rate of the untouched model; None if it was not kept, like ``after``.
        interval: 95 % bounds of ``after``; None where drawing anew changes nothing, as when there is a single clip or no
            error at all.
    """

    name: str
    words: int
    clips: int
    before: float | None
    after: float | None
    interval: tuple[float, float] | None


def by_speaker(run: Run) -> list[GroupRate]:
    """Each speaker, the lowest rate first. The intervals draw the speaker's clips anew: they are about this person."""
    return _rates(run, lambda sample: sample.speaker, lambda sample: sample.key)


def by_language(run: Run) -> list[GroupRate]:
    """Each language, the lowest rate first. The intervals draw the language's speakers anew."""
    return _rates(run, lambda sample: sample.language, lambda sample: sample.speaker)


def _rates(run: Run, label: Callable[[Sample], str], unit: Callable[[Sample], str]) -> list[GroupRate]:
    before, after = _counted(run.before, label, unit), _counted(run.after, label, unit)
    clips = _clips(run.after or run.before, label)
    groups = [
        GroupRate(
            name=name or UNKNOWN,
            words=pooled((after or before)[name].values()).words,
            clips=clips[name],
            before=_rate(before.get(name, {})),
            after=_rate(after.get(name, {})),
            interval=_interval(after.get(name, {}), run.bootstrap.at(name)),
        )
        for name in clips
    ]
    return sorted(groups, key=lambda group: (group.after is None, group.after or 0.0, group.before or 0.0, group.name))


def _counted(
    samples: Sequence[Sample], label: Callable[[Sample], str], unit: Callable[[Sample], str]
) -> dict[str, dict[str, Errors]]:
    """Errors of each unit of each group."""
    groups: dict[str, dict[str, Errors]] = {}
    for sample in samples:
        errors = word_errors(
            normalise(sample.reference, sample.language), normalise(sample.hypothesis, sample.language)
        )
        units = groups.setdefault(label(sample), {})
        units[unit(sample)] = units.get(unit(sample), Errors()) + errors
    return groups


def _clips(samples: Sequence[Sample], label: Callable[[Sample], str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for sample in samples:
        counts[label(sample)] = counts.get(label(sample), 0) + 1
    return counts


def _rate(units: Mapping[str, Errors]) -> float | None:
    errors = pooled(units.values())
    return errors.rate if errors.words else None


def _interval(units: Mapping[str, Errors], seeds: Seeds) -> tuple[float, float] | None:
    if not any(errors.words for errors in units.values()):
        return None
    bounds = speaker_interval(units, seeds=seeds, resamples=_RESAMPLES).bounds
    return None if bounds is None or bounds[0] == bounds[1] else bounds
