"""What recordings mean for an experiment: who trains, who tests, and what a user should know of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.data import DIGITS, Splits, Utterance, read_manifest
from sordino.data.corpora.manifest import Manifest
from sordino.data.holding_out import ENOUGH_SPEAKERS
from sordino.evaluation import normalise
from sordino.experiments.sizing import window_for
from sordino.models import ModelOptions

__all__ = ["Survey", "survey"]

_STRANGE: Final = 0.1
_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What an experiment on a manifest will find.

    Attributes:
        corpus: the manifest and how much of it is held out.
        window_s: what the model should hear at once.
        population: number of training speakers.
        held_out: who or what is kept for the test, and why, in a sentence.
        tests_training_speakers: whether the test clips are of people who are trained on.
        notes: what a user should know, one sentence each.
    """

    corpus: Manifest
    window_s: float
    population: int
    held_out: str
    tests_training_speakers: bool
    notes: tuple[str, ...]


def survey(manifest: Path, model: ModelOptions) -> Survey:
    """Reads a manifest as a run would.

    Raises:
        ConfigError: no such model.
        DataError: recordings that cannot be used with it.
    """
    corpus = Manifest(train=manifest)
    utterances = read_manifest(manifest)
    window_s = window_for(model, utterances)
    splits = corpus.load(window_s)
    speakers = {utterance.speaker for utterance in utterances}
    training = {utterance.speaker for utterance in splits.train}
    clips_only = len(speakers) < ENOUGH_SPEAKERS
    held_out = _held_out(splits, len(speakers), clips_only=clips_only)
    return Survey(
        corpus=corpus,
        window_s=window_s,
        population=len(training),
        held_out=held_out,
        tests_training_speakers=clips_only,
        notes=(held_out, *splits.notes, *_lost(splits, speakers), *_hidden(clips_only), *_strange(splits.train, model)),
    )


def _held_out(splits: Splits, speakers: int, *, clips_only: bool) -> str:
    if clips_only:
        return (
            f"{len(splits.test)} clips are held out for the test, some of each speaker's: with {speakers} speakers, fewer "
            f"than {ENOUGH_SPEAKERS}, nobody can be spared, so the test says nothing about new people."
        )
    names = sorted({utterance.speaker for utterance in splits.test})
    return (
        f"{len(names)} of {speakers} speakers are held out for the test ({_some(names)}), so it says how well people are "
        "understood whom the model has never heard."
    )


def _lost(splits: Splits, speakers: set[str]) -> Iterator[str]:
    lost = speakers - {utterance.speaker for utterance in (*splits.train, *splits.test)}
    if lost:
        yield f"{len(lost)} speakers have no clip that is short enough to train on: {_some(sorted(lost))}."


def _hidden(clips_only: bool) -> Iterator[str]:
    if clips_only:
        yield (
            "No word error rate is shown under private telemetry, because it would tell about training speakers; set "
            'telemetry = "debug" while everybody concerned agrees.'
        )


def _strange(train: Sequence[Utterance], model: ModelOptions) -> Iterator[str]:
    """Warns when the pocket model is to learn words that it has never heard."""
    if model.base != "pocket":
        return
    digits = {normalise(word, language) for language, words in DIGITS.items() for word in words}
    words = Counter(word for utterance in train for word in normalise(utterance.text, utterance.language).split())
    strange = Counter({word: count for word, count in words.items() if word not in digits})
    if strange.total() > _STRANGE * words.total():
        yield (
            f"{100 * strange.total() / words.total():.0f} % of the words in the transcripts are no digits (e.g. "
            f"{', '.join(word for word, _ in strange.most_common(_NAMED))}), but digits are all that the pocket model has "
            "learnt: use it to try things out, and for results name a model with --encoder and --decoder."
        )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
