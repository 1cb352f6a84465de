"""Who takes part: speakers with utterances to train on, to choose options by, and to be tested on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

import numpy as np

from sordino.data import Splits, Utterance
from sordino.data.corpus import within_window
from sordino.errors import ConfigError, DataError
from sordino.evaluation import normalise
from sordino.experiments.tasks.personalised import PersonalisedData
from sordino.seeds import Seeds

__all__ = ["Speaker", "Speakers", "members", "speakers_of"]

_NEW: Final = Seeds(0).at("new speakers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """One client.

    Attributes:
        group: value of the attribute that error rates are given by; empty where unknown.
        train: transcripts normalised.
        development: held out of training; options may be chosen by it.
        test: held out of training and of every choice.
    """

    group: str
    train: Sequence[Utterance]
    development: Sequence[Utterance]
    test: Sequence[Utterance]


@dataclass(frozen=True, slots=True)
class Speakers:
    """Everybody by name.

    Attributes:
        known: the clients.
        new: who never trains; what they have to train on is all that their models may be made from.
        notes: what was left out, in sentences.
    """

    known: Mapping[str, Speaker]
    new: Mapping[str, Speaker]
    notes: tuple[str, ...]


def members(groups: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """The speakers of each group, from the group of each speaker."""
    found: dict[str, list[str]] = {}
    for name, group in groups.items():
        found.setdefault(group, []).append(name)
    return {group: tuple(names) for group, names in found.items()}


def speakers_of(splits: Splits, options: PersonalisedData, seeds: Seeds, *, window_s: float) -> Speakers:
    """Deals each speaker's utterances out.

    Args:
        splits: the corpus.
        options: how they are dealt out.
        seeds: decide which.
        window_s: the model's window; what of a pooled test set is longer is not trained on.

    Raises:
        ConfigError: nobody would be left to train.
        DataError: nobody has utterances for training and for the test.
    """
    train, test = _by_speaker(splits.train), _by_speaker(splits.test)
    if options.held_out:
        pooled = _by_speaker((*splits.train, *splits.test))
        divided = {name: _divide(own, options.held_out, seeds.at("held out", name)) for name, own in pooled.items()}
        train, test = ({name: pair[place] for name, pair in divided.items()} for place in (0, 1))
    fitting, too_long = within_window((utterance for own in train.values() for utterance in own), window_s)
    train, known = _by_speaker(fitting), {}
    for name in sorted(train):
        kept, development = _divide(train[name], options.development, seeds.at("development", name))
        taught = _normalised(kept)
        if name and taught and test.get(name):
            group = taught[0].attributes.get(options.group, "")
            known[name] = Speaker(group=group, train=taught, development=development, test=test[name])
    if not known:
        raise DataError(
            f"none of {len(train)} speakers has utterances to train on and others to be tested on: expected some; set "
            "data.held_out to the share of each one's that is tested on, such as 0.25."
        )
    left_out = (*too_long, *_left_out(sorted({*train, *test} - known.keys())))
    apart = _apart(known, options.new_speakers)
    new = {name: _scarce(known.pop(name), options.new_utterances, seeds.at("new", name)) for name in apart}
    return Speakers(_unequal(known, options.least_fraction, seeds.at("amounts")), new, (*splits.notes, *left_out))


def _apart(speakers: Mapping[str, Speaker], count: int) -> tuple[str, ...]:
    """Who never trains: in turn one of each group, whatever the seed, so that error rates of several can be pooled."""
    if count >= len(speakers):
        raise ConfigError(
            f"data.new_speakers = {count} of {len(speakers)} speakers: expected fewer, so that somebody trains; lower it."
        )
    groups = members({name: speaker.group for name, speaker in speakers.items()})
    orders = [_NEW.at(group).generator().permutation(names).tolist() for group, names in groups.items()]
    in_turn = [name for turn in zip_longest(*orders) for name in turn if name is not None]
    return tuple(in_turn[:count])


def _scarce(speaker: Speaker, count: int, seeds: Seeds) -> Speaker:
    """The speaker with a few utterances at most to make a model from, and none to choose options by."""
    return replace(speaker, train=_some(speaker.train, count, seeds), development=())


def _unequal(speakers: Mapping[str, Speaker], least: float, seeds: Seeds) -> Mapping[str, Speaker]:
    """The speakers with shares of their training utterances that are spread evenly from ``least`` to 1."""
    if least == 1:
        return speakers
    shares = seeds.generator().permutation(np.linspace(least, 1, len(speakers))).tolist()
    return {
        name: replace(
            speaker, train=_some(speaker.train, max(1, round(share * len(speaker.train))), seeds.at("which", name))
        )
        for share, (name, speaker) in zip(shares, speakers.items(), strict=True)
    }


def _some(utterances: Sequence[Utterance], count: int, seeds: Seeds) -> tuple[Utterance, ...]:
    chosen = sorted(seeds.generator().permutation(len(utterances))[:count].tolist())
    return tuple(utterances[index] for index in chosen)


def _left_out(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    return (f"left out {len(names)} speakers without utterances for both training and test, such as {names[0]!r}.",)


def _by_speaker(utterances: Sequence[Utterance]) -> dict[str, tuple[Utterance, ...]]:
    found: dict[str, list[Utterance]] = {}
    for utterance in utterances:
        found.setdefault(utterance.speaker, []).append(utterance)
    return {name: tuple(own) for name, own in found.items()}


def _divide(
    utterances: Sequence[Utterance], share: float, seeds: Seeds
) -> tuple[tuple[Utterance, ...], tuple[Utterance, ...]]:
    """Keeps all but a share, at least one utterance on each side where there are two; none is taken if the share is 0."""
    count = min(len(utterances) - 1, max(1, round(share * len(utterances)))) if share else 0
    taken = set(seeds.generator().permutation(len(utterances))[:count].tolist())
    pairs = list(enumerate(utterances))
    return tuple(u for index, u in pairs if index not in taken), tuple(u for index, u in pairs if index in taken)


def _normalised(utterances: Sequence[Utterance]) -> tuple[Utterance, ...]:
    """With transcripts spelt as they are scored; one without words teaches nothing and is dropped."""
    spelt = (replace(utterance, text=normalise(utterance.text, utterance.language)) for utterance in utterances)
    return tuple(utterance for utterance in spelt if utterance.text)
