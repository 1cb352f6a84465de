"""The report on a test set: error rates overall, by speaker, by language and by client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sordino.errors import DataError
from sordino.evaluation.samples import Mark, Sample, mark
from sordino.evaluation.significance import Interval, speaker_interval
from sordino.evaluation.wer import Errors, pooled
from sordino.seeds import Seeds

__all__ = ["WerReport", "pool", "score"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WerReport:
    """Counts of a test set; every rate is a fraction computed from them.

    Attributes:
        words: pooled word errors.
        characters: pooled character errors.
        interval: 95 % speaker bootstrap of `wer`.
        by_speaker: word errors by speaker, sorted by name; likewise by language and client. Each adds up to `words`.
            Utterances without a label stand under ``""``.
        num_utterances: size of the test set.
        num_truncated: outputs that the length bound stopped.
    """

    words: Errors
    characters: Errors
    interval: Interval
    by_speaker: Mapping[str, Errors]
    by_language: Mapping[str, Errors]
    by_client: Mapping[str, Errors]
    num_utterances: int
    num_truncated: int

    @property
    def wer(self) -> float:
        """Pooled word error rate."""
        return self.words.rate

    @property
    def cer(self) -> float:
        """Pooled character error rate."""
        return self.characters.rate

    @property
    def ci95(self) -> tuple[float, float] | None:
        """Ends of the interval of `wer`; None for a single speaker."""
        return self.interval.bounds

    @property
    def worst_speaker(self) -> str:
        """The speaker with the highest word error rate among those with words; of equals the first by name."""
        rated = (speaker for speaker, errors in self.by_speaker.items() if errors.words)
        return max(rated, key=lambda speaker: self.by_speaker[speaker].rate)

    def dump(self) -> dict[str, Any]:
        """The report as plain JSON types; a rate without reference words is null."""
        return {
            "wer": self.wer,
            "cer": self.cer,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "ci95_note": self.interval.note,
            "errors": asdict(self.words),
            "num_utterances": self.num_utterances,
            "num_truncated": self.num_truncated,
            "worst_speaker": self.worst_speaker,
            "by_speaker": _dump_groups(self.by_speaker),
            "by_language": _dump_groups(self.by_language),
            "by_client": _dump_groups(self.by_client),
        }


def score(samples: Sequence[Sample], *, seeds: Seeds) -> WerReport:
    """Compares each hypothesis with its reference, both normalised alike, and pools the errors.

    Args:
        samples: the test set; one sample an utterance.
        seeds: where the bootstrap draws come from.

    Raises:
        DataError: no samples, an utterance given twice, or references without a single word.
    """
    return pool([mark(sample) for sample in samples], seeds=seeds)


def pool(marks: Sequence[Mark], *, seeds: Seeds) -> WerReport:
    """The report on errors that were counted before, maybe elsewhere.

    Args:
        marks: the test set; one mark an utterance.
        seeds: where the bootstrap draws come from.

    Raises:
        DataError: as of `score`.
    """
    _require_once_each(marks)
    by_speaker = _grouped(marks, lambda one: one.speaker)
    return WerReport(
        words=pooled(one.words for one in marks),
        characters=pooled(one.characters for one in marks),
        interval=speaker_interval(by_speaker, seeds=seeds),
        by_speaker=by_speaker,
        by_language=_grouped(marks, lambda one: one.language),
        by_client=_grouped(marks, lambda one: one.client),
        num_utterances=len(marks),
        num_truncated=sum(one.truncated for one in marks),
    )


def _require_once_each(marks: Sequence[Mark]) -> None:
    if not marks:
        raise DataError("the test set holds 0 utterances: expected at least 1; give a manifest with recordings.")
    key, count = Counter(one.key for one in marks).most_common(1)[0]
    if count > 1:
        raise DataError(f"utterance {key!r} is in the test set {count} times: expected once; remove the repetitions.")


def _grouped(marks: Iterable[Mark], label: Callable[[Mark], str]) -> Mapping[str, Errors]:
    groups: dict[str, list[Errors]] = {}
    for one in marks:
        groups.setdefault(label(one), []).append(one.words)
    return {name: pooled(groups[name]) for name in sorted(groups)}


def _dump_groups(groups: Mapping[str, Errors]) -> dict[str, Any]:
    return {name: {"wer": errors.rate if errors.words else None, **asdict(errors)} for name, errors in groups.items()}
