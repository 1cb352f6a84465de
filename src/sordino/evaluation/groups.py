"""The report on a test set: error rates overall, by speaker, by language and by client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sordino.errors import DataError
from sordino.evaluation.normalise import normalise
from sordino.evaluation.significance import Interval, speaker_interval
from sordino.evaluation.wer import Errors, character_errors, pooled, word_errors
from sordino.seeds import Seeds

__all__ = ["Sample", "WerReport", "score"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What was said and what the model wrote.

    Attributes:
        key: identity of the utterance, unique in a test set.
        speaker: who spoke; empty where unknown.
        reference: transcript, raw or normalised.
        hypothesis: output of the model, raw or normalised.
        language: BCP 47 tag; empty where unknown.
        client: the federation's client that holds the utterance; empty where none does.
        truncated: the length bound stopped the decoder, as it does a repeat loop.
    """

    key: str
    speaker: str
    reference: str
    hypothesis: str
    language: str = ""
    client: str = ""
    truncated: bool = False


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
    _check_samples(samples)
    pairs = [
        (normalise(sample.reference, sample.language), normalise(sample.hypothesis, sample.language))
        for sample in samples
    ]
    words = [word_errors(reference, hypothesis) for reference, hypothesis in pairs]
    by_speaker = _grouped(samples, words, lambda sample: sample.speaker)
    return WerReport(
        words=pooled(words),
        characters=pooled(character_errors(reference, hypothesis) for reference, hypothesis in pairs),
        interval=speaker_interval(by_speaker, seeds=seeds),
        by_speaker=by_speaker,
        by_language=_grouped(samples, words, lambda sample: sample.language),
        by_client=_grouped(samples, words, lambda sample: sample.client),
        num_utterances=len(samples),
        num_truncated=sum(sample.truncated for sample in samples),
    )


def _check_samples(samples: Sequence[Sample]) -> None:
    if not samples:
        raise DataError("the test set holds 0 utterances: expected at least 1; give a manifest with recordings.")
    key, count = Counter(sample.key for sample in samples).most_common(1)[0]
    if count > 1:
        raise DataError(f"utterance {key!r} is in the test set {count} times: expected once; remove the repetitions.")


def _grouped(
    samples: Sequence[Sample], errors: Sequence[Errors], label: Callable[[Sample], str]
) -> Mapping[str, Errors]:
    groups: dict[str, list[Errors]] = {}
    for sample, counted in zip(samples, errors, strict=True):
        groups.setdefault(label(sample), []).append(counted)
    return {name: pooled(groups[name]) for name in sorted(groups)}


def _dump_groups(groups: Mapping[str, Errors]) -> dict[str, Any]:
    return {name: {"wer": errors.rate if errors.words else None, **asdict(errors)} for name, errors in groups.items()}
