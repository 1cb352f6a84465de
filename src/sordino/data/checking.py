"""``sordino data check``: everything that is wrong with a manifest and its recordings, in one pass."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from sordino.data.audio import audio_duration, read_samples
from sordino.data.manifest import Problem, parse_manifest
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["ManifestReport", "check_manifest"]

_SILENT_PEAK: Final = 1e-4
_DURATION_TOLERANCE_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestReport:
    """What a manifest holds and what is wrong with it.

    Attributes:
        utterances: number of lines that can be used.
        hours: their length by the manifest.
        speakers: utterances of each speaker.
        languages: utterances in each language; ``""`` where none is given.
        longest_s: length of the longest one.
        problems: by line.
    """

    path: Path
    utterances: int
    hours: float
    speakers: Mapping[str, int]
    languages: Mapping[str, int]
    longest_s: float
    problems: tuple[Problem, ...]

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many problems there are of each kind."""
        return Counter(problem.kind for problem in self.problems)


def check_manifest(path: Path, *, window_s: float | None = None) -> ManifestReport:
    """Reads every line and every recording of a manifest and collects what is wrong.

    Beyond what `read_manifest` refuses, these are reported: recordings that are unreadable, empty or silent (peak under
    -80 dB), durations that differ from the recording's by more than 50 ms, audio given twice, empty transcripts,
    and clips longer than ``window_s``.

    Raises:
        DataError: the manifest is missing or not UTF-8 text.
    """
    utterances: list[Utterance] = []
    problems: list[Problem] = []
    heard: dict[bytes, int] = {}
    lines = list(parse_manifest(path))
    pieces = Counter(item.audio for _, item in lines if isinstance(item, Utterance))
    for line, item in lines:
        if isinstance(item, Problem):
            problems.append(item)
            continue
        utterances.append(item)
        found = _problems_of(item, heard, line, window_s, alone=pieces[item.audio] == 1)
        problems.extend(Problem(line, kind, message) for kind, message in found.items())
    if not utterances and not problems:
        problems.append(Problem(1, "empty", "the manifest has no utterance; write one JSON object a line."))
    return ManifestReport(
        path=path,
        utterances=len(utterances),
        hours=sum(utterance.duration_s for utterance in utterances) / 3600,
        speakers=Counter(utterance.speaker for utterance in utterances),
        languages=Counter(utterance.language for utterance in utterances),
        longest_s=max((utterance.duration_s for utterance in utterances), default=0.0),
        problems=tuple(problems),
    )


def _problems_of(
    utterance: Utterance, heard: dict[bytes, int], line: int, window_s: float | None, *, alone: bool
) -> Mapping[str, str]:
    """Message by kind of problem.

    Args:
        utterance: what the line says.
        heard: remembers the first line with each audio content.
        line: number of the line.
        window_s: the model's window, if there is one to compare with.
        alone: no other line uses a piece of the same recording.
    """
    found: dict[str, str] = {}
    if not utterance.text.strip():
        found["transcript"] = "text is empty; give the transcript unless nothing is said."
    try:
        samples, rate = read_samples(utterance.audio, offset_s=utterance.offset_s, duration_s=utterance.duration_s)
        whole_s = audio_duration(utterance.audio)
    except DataError as error:
        return found | {"unreadable": str(error)}
    real_s = whole_s if alone and utterance.offset_s == 0 else len(samples) / rate
    if abs(real_s - utterance.duration_s) > _DURATION_TOLERANCE_S:
        found["duration"] = f"duration = {utterance.duration_s} but the recording has {real_s:.3f} s; correct it."
    if window_s is not None and utterance.duration_s > window_s:
        found["long"] = (
            f"{utterance.duration_s} s is longer than the model's window of {window_s} s, so it is left out of "
            "training; split it or raise model.window_s."
        )
    if np.abs(samples).max() < _SILENT_PEAK:
        return found | {"silent": f"{utterance.audio} is silent; record it again or remove the line."}
    first = heard.setdefault(hashlib.blake2b(samples.tobytes(), digest_size=16).digest(), line)
    if first != line:
        found["duplicate"] = f"the same audio as line {first}; remove one of the two."
    return found
