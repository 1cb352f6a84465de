"""Whose recordings are private, whose are public, and what is to be told of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sordino.data import Utterance
from sordino.data.corpus import within_window
from sordino.data.holding_out import hold_out_speakers
from sordino.errors import ConfigError, DataError
from sordino.evaluation import normalise
from sordino.experiments.split.exchanging import PRIVATE
from sordino.experiments.tasks.split_speech import TEXT, SpeechData, SplitSpeechExperiment
from sordino.models.ctc import Units
from sordino.seeds import Seeds

__all__ = ["Speech", "attribute", "gathered"]

_FEWEST: Final = 3
"""Recordings of a label that something can be learned from."""


@dataclass(frozen=True, kw_only=True)
class Speech:
    """The recordings of an experiment.

    Attributes:
        sets: ``train``, ``test`` and ``public``; no public speaker is in another set.
        target: what is told of them.
        labels: the labels that there are, sorted; none where words are.
        units: what words are written in; None where labels are told.
        test_is: whose speech the test recordings are.
        notes: what was left out.
    """

    sets: Mapping[str, tuple[Utterance, ...]]
    target: str
    labels: tuple[str, ...]
    units: Units | None
    test_is: str
    notes: tuple[str, ...]

    @property
    def num_private(self) -> int:
        """Recordings that noise protects."""
        return sum(len(self.sets[name]) for name in PRIVATE)


def gathered(options: SplitSpeechExperiment) -> Speech:
    """Reads the corpus and deals its recordings out.

    Raises:
        ConfigError: a target that recordings do not have, or too few speakers.
        DataError: too few recordings, or a label that is not in every set.
    """
    data, seeds = options.data, Seeds(options.seed).at("recordings")
    splits = data.corpus.load(data.window_s)
    speakers = {utterance.speaker for utterance in splits.train}
    if data.public_speakers >= len(speakers):
        raise ConfigError(
            f"data.public_speakers = {data.public_speakers}: {len(speakers)} speakers train; expected one of them at least "
            "to be private; name fewer."
        )
    division = hold_out_speakers(splits.train, data.public_speakers, seed=options.seed)
    known = {utterance.speaker for utterance in division.test}
    test, long = within_window((one for one in splits.test if one.speaker not in known), data.window_s)
    found = {"train": division.train, "test": test, "public": division.test}
    sets = {name: _some(ones, getattr(data, name), seeds=seeds.at(name), name=name) for name, ones in found.items()}
    labels = () if data.target == TEXT else _labels(sets, data.target)
    units = _units(data, sets) if data.target == TEXT else None
    notes = (*splits.notes, *(note.replace(", for training", ", for testing") for note in long))
    return Speech(sets=sets, target=data.target, labels=labels, units=units, test_is=splits.test_is, notes=notes)


def _some(utterances: Sequence[Utterance], count: int, *, seeds: Seeds, name: str) -> tuple[Utterance, ...]:
    """That many of them, drawn at random; all if 0."""
    if not count:
        count = max(2, len(utterances))
    if len(utterances) < count:
        raise DataError(
            f"{len(utterances)} recordings are there for {name!r}: expected {count}; lower data.{name}, or give more."
        )
    return tuple(utterances[place] for place in seeds.generator().permutation(len(utterances))[:count])


def attribute(utterance: Utterance, name: str) -> str:
    """The speaker, the text, or an attribute of an utterance; raises ConfigError if it has none of that name."""
    known = {**utterance.attributes, "speaker": utterance.speaker, TEXT: utterance.text}
    if name not in known:
        raise ConfigError(
            f"{name!r} is no attribute of {utterance.audio}: expected one of {', '.join(sorted(known))}; name one of those."
        )
    return known[name]


def _labels(sets: Mapping[str, Sequence[Utterance]], target: str) -> tuple[str, ...]:
    kinds = {name: {attribute(one, target) for one in utterances} for name, utterances in sets.items()}
    labels = tuple(sorted(kinds["train"]))
    if len(labels) < 2:
        raise ConfigError(
            f"data.target = {target!r}: expected at least two labels to tell apart, found {list(labels)}; name another."
        )
    for name, found in kinds.items():
        if odd := sorted(found ^ kinds["train"]):
            raise DataError(
                f"data.target = {target!r}: {odd[0]!r} is not in both the training and the {name} recordings; take more of "
                "each, or leave that label out of the corpus."
            )
    for name in ("train", "public"):  # a linear head's penalty is chosen in three folds
        label, count = min(Counter(attribute(one, target) for one in sets[name]).items(), key=lambda item: item[1])
        if count < _FEWEST:
            raise DataError(
                f"data.target = {target!r}: {label!r} has {count} {name} recordings; expected at least {_FEWEST} of "
                f"each label; raise data.{name}, or leave that label out of the corpus."
            )
    return labels


def _units(data: SpeechData, sets: Mapping[str, Sequence[Utterance]]) -> Units:
    units = Units.of_words(data.vocabulary) if data.units == "words" else Units.of_characters(data.alphabet)
    for name, utterances in sets.items():
        for one in utterances:
            if not units.encode(normalise(one.text, one.language)):
                raise DataError(
                    f"nothing of {one.text!r}, said in {one.audio}, can be written: expected words of data.vocabulary or "
                    f"characters of data.alphabet in every {name} recording; add them, or leave it out."
                )
    return units
