"""Who speaks in a corpus: hours and speakers by split and language, and which speakers and prompts splits share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from sordino.data.utterance import Utterance

__all__ = ["CensusRow", "SharedPrompts", "census", "shared_prompts", "shared_speakers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusRow:
    """One language of one split.

    Attributes:
        split: e.g. ``"train"``.
        language: its code; empty where none is given.
        utterances: number of them.
        hours: their length in all.
        speakers: how many people speak; so many clients there are, if each is one.
    """

    split: str
    language: str
    utterances: int
    hours: float
    speakers: int

    @property
    def hours_per_speaker(self) -> float:
        """Mean length of what one of them says."""
        return self.hours / self.speakers


def census(splits: Mapping[str, Iterable[Utterance]]) -> tuple[CensusRow, ...]:
    """A row for each split and language, the splits as given, the languages by name.

    Source: the table of clients in "Component-aware differential privacy for federated speech-LLMs", arXiv 2609.11762.
    """
    rows = []
    for split, utterances in splits.items():
        groups: dict[str, list[Utterance]] = {}
        for utterance in utterances:
            groups.setdefault(utterance.language, []).append(utterance)
        rows += [
            CensusRow(
                split=split,
                language=language,
                utterances=len(group),
                hours=sum(utterance.duration_s for utterance in group) / 3600,
                speakers=len({utterance.speaker for utterance in group}),
            )
            for language, group in sorted(groups.items())
        ]
    return tuple(rows)


def shared_speakers(splits: Mapping[str, Iterable[Utterance]]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """The speakers that two splits share, for each pair of splits that shares any."""
    speakers = {split: {utterance.speaker for utterance in utterances} for split, utterances in splits.items()}
    pairs = {(one, other): tuple(sorted(speakers[one] & speakers[other])) for one, other in combinations(speakers, 2)}
    return {pair: shared for pair, shared in pairs.items() if shared}


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPrompts:
    """Texts that are said in two splits.

    Attributes:
        texts: each once, sorted; upper and lower case and spaces make no difference.
        rates: fraction of each split's utterances that say one of them, by its name.
    """

    texts: tuple[str, ...]
    rates: Mapping[str, float]


def shared_prompts(splits: Mapping[str, Iterable[Utterance]]) -> Mapping[tuple[str, str], SharedPrompts]:
    """What two splits both say, for each pair that shares any: a test on those texts may test what was learnt by heart."""
    said = {split: [" ".join(u.text.casefold().split()) for u in utterances] for split, utterances in splits.items()}
    found = {}
    for one, other in combinations(said, 2):
        texts = set(said[one]) & set(said[other])
        if texts:
            rates = {split: sum(text in texts for text in said[split]) / len(said[split]) for split in (one, other)}
            found[one, other] = SharedPrompts(texts=tuple(sorted(texts)), rates=rates)
    return found
