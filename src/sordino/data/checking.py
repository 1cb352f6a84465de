"""``sordino data check``: what a manifest holds and everything that is wrong with it, in one pass."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sordino.data.audio import audio_duration
from sordino.data.census import CensusRow, census
from sordino.data.listening import listen
from sordino.data.manifest import Problem, parse_manifest
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["DURATION_EDGES_S", "ManifestReport", "check_manifest"]

DURATION_EDGES_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""Edges between the lengths that `ManifestReport.durations` counts; the first starts at 0, the last has no end."""

_DURATION_TOLERANCE_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestReport:
    """What a manifest holds and what is wrong with it.

    Attributes:
        path: the manifest.
        utterances: number of lines that can be used.
        hours: their length by the manifest.
        speakers: utterances of each speaker.
        languages: utterances in each language; ``""`` where none is given.
        clients: hours and speakers of each language.
        durations: utterances between neighbouring `DURATION_EDGES_S`.
        median_s: length of the middle one.
        longest_s: length of the longest one.
        sample_rates: readable utterances recorded at each rate in Hz.
        problems: by line.
    """

    path: Path
    utterances: int
    hours: float
    speakers: Mapping[str, int]
    languages: Mapping[str, int]
    clients: tuple[CensusRow, ...]
    durations: Sequence[int]
    median_s: float
    longest_s: float
    sample_rates: Mapping[int, int]
    problems: tuple[Problem, ...]

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many problems there are of each kind."""
        return Counter(problem.kind for problem in self.problems)

    @property
    def clips_per_speaker(self) -> Mapping[str, float]:
        """Fewest, median and most utterances of a speaker."""
        counts = sorted(self.speakers.values()) or [0]
        return {"min": counts[0], "median": statistics.median(counts), "max": counts[-1]}


def check_manifest(
    path: Path, *, window_s: float | None = None, watch: Callable[[Sequence[Any]], Iterable[Any]] = iter
) -> ManifestReport:
    """Reads every line and every recording of a manifest and collects what is wrong.

    Beyond what `read_manifest` refuses, these are reported: recordings that are unreadable, empty or silent (peak under
    -80 dB), overdriven (more than one sample in a thousand at full scale), durations that differ from the recording's by
    more than 50 ms, audio given twice (in whatever format), empty transcripts, and clips longer than ``window_s``.

    Args:
        path: the manifest.
        window_s: the model's window, if there is one to compare with.
        watch: goes through the lines one by one, and may show how far it is.

    Raises:
        DataError: the manifest is missing or not UTF-8 text.
    """
    utterances: list[Utterance] = []
    problems: list[Problem] = []
    memory = _Memory()
    lines = list(parse_manifest(path))
    pieces = Counter(item.audio for _, item in lines if isinstance(item, Utterance))
    for line, item in watch(lines):
        if isinstance(item, Problem):
            problems.append(item)
            continue
        utterances.append(item)
        found = _problems_of(item, memory, line, window_s, alone=pieces[item.audio] == 1)
        problems.extend(Problem(line, kind, message) for kind, message in found.items())
    if not utterances and not problems:
        problems.append(Problem(1, "empty", "the manifest has no utterance; write one JSON object a line."))
    return ManifestReport(
        path=path,
        utterances=len(utterances),
        hours=sum(utterance.duration_s for utterance in utterances) / 3600,
        speakers=dict(Counter(utterance.speaker for utterance in utterances)),
        languages=dict(Counter(utterance.language for utterance in utterances)),
        clients=census({path.stem: utterances}),
        durations=_histogram(utterances),
        median_s=statistics.median(utterance.duration_s for utterance in utterances) if utterances else 0.0,
        longest_s=max((utterance.duration_s for utterance in utterances), default=0.0),
        sample_rates=dict(memory.rates),
        problems=tuple(problems),
    )


def _histogram(utterances: Iterable[Utterance]) -> list[int]:
    counts = [0] * (len(DURATION_EDGES_S) + 1)
    for utterance in utterances:
        counts[sum(utterance.duration_s > edge for edge in DURATION_EDGES_S)] += 1
    return counts


@dataclass(slots=True)
class _Memory:
    """What was heard so far: the first line with each sound, and how often each rate."""

    lines: dict[bytes, int] = field(default_factory=dict)
    rates: Counter[int] = field(default_factory=Counter)


def _problems_of(
    utterance: Utterance, memory: _Memory, line: int, window_s: float | None, *, alone: bool
) -> Mapping[str, str]:
    """Message by kind of problem.

    Args:
        utterance: what the line says.
        memory: what was heard so far.
        line: number of the line.
        window_s: the model's window, if there is one to compare with.
        alone: no other line uses a piece of the same recording.
    """
    found: dict[str, str] = {}
    if not utterance.text.strip():
        found["transcript"] = "text is empty; give the transcript unless nothing is said."
    try:
        heard = listen(utterance)
        whole_s = audio_duration(utterance.audio)
    except DataError as error:
        return found | {"unreadable": str(error)}
    memory.rates[heard.rate_hz] += 1
    real_s = whole_s if alone and utterance.offset_s == 0 else heard.duration_s
    if abs(real_s - utterance.duration_s) > _DURATION_TOLERANCE_S:
        found["duration"] = f"duration = {utterance.duration_s} but the recording has {real_s:.3f} s; correct it."
    if window_s is not None and utterance.duration_s > window_s:
        found["long"] = (
            f"{utterance.duration_s} s is longer than the model's window of {window_s} s, so it is left out of "
            "training; split it or raise model.window_s."
        )
    if heard.silent:
        return found | {"silent": f"{utterance.audio} is silent; record it again or remove the line."}
    if heard.clipped:
        found["clipped"] = f"{utterance.audio} is overdriven; record it again with less gain, or accept more errors."
    first = memory.lines.setdefault(heard.digest, line)
    if first != line:
        found["duplicate"] = f"the same audio as line {first}; remove one of the two."
    return found
