"""Any corpus that has a manifest, or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino._check import fraction
from sordino.config import option
from sordino.data.corpus import CORPORA, Corpus, Splits, readable, within_window
from sordino.data.manifest import read_manifest
from sordino.data.utterance import Utterance
from sordino.errors import DataError
from sordino.seeds import Seeds

__all__ = ["Manifest"]

_ENOUGH_SPEAKERS: Final = 5


@CORPORA.register("manifest")
@dataclass(frozen=True, slots=True)
class Manifest(Corpus):
    """Utterances of JSONL manifests in NeMo's style.

    Without a test manifest some speakers are held out altogether, or, where there are fewer than five, some clips of
    each.
    """

    train: Path = option("Training manifest.")
    test: Path | None = option("Test manifest; without one, held_out says how much of train is kept for testing.", None)
    held_out: float = option(
        "Fraction of the speakers (of fewer than five: of each one's clips) kept for testing.", 0.2
    )
    seed: int = option("Fixes who or what is held out.", 0)

    def __post_init__(self) -> None:
        fraction("data.corpus.held_out", self.held_out)

    def load(self, window_s: float) -> Splits:
        train, notes = readable(read_manifest(self.train.expanduser()))
        if self.test is not None:
            test, more = readable(read_manifest(self.test.expanduser()))
            notes += more
            test_is = _whose(train, test)
        elif len({utterance.speaker for utterance in train}) >= _ENOUGH_SPEAKERS:
            train, test = self._by_speaker(train)
            test_is = "held-out speakers"
        else:
            train, test = self._by_clip(train)
            test_is = "held-out clips of training speakers"
        train, more = within_window(train, window_s)
        notes += more
        for split, utterances in (("training", train), ("testing", test)):
            if not utterances:
                reasons = "".join(f"{note.rstrip('.')}; " for note in notes)
                raise DataError(
                    f"{self.train} leaves no utterance for {split}: {reasons}add recordings, or change "
                    "data.corpus.held_out or model.window_s."
                )
        return Splits(train=train, test=test, test_is=test_is, notes=notes)

    def _by_speaker(self, utterances: Sequence[Utterance]) -> tuple[tuple[Utterance, ...], tuple[Utterance, ...]]:
        speakers = sorted({utterance.speaker for utterance in utterances})
        order = Seeds(self.seed).at("held-out speakers").generator().permutation(len(speakers))
        count = min(len(speakers) - 1, max(1, round(self.held_out * len(speakers))))
        chosen = {speakers[index] for index in order[:count]}
        return _divided(utterances, [utterance.speaker in chosen for utterance in utterances])

    def _by_clip(self, utterances: Sequence[Utterance]) -> tuple[tuple[Utterance, ...], tuple[Utterance, ...]]:
        held = [False] * len(utterances)
        for speaker in {utterance.speaker for utterance in utterances}:
            own = [index for index, utterance in enumerate(utterances) if utterance.speaker == speaker]
            order = Seeds(self.seed).at("held-out clips", speaker).generator().permutation(len(own))
            for index in order[: min(len(own) - 1, max(1, round(self.held_out * len(own))))]:
                held[own[index]] = True
        return _divided(utterances, held)


def _divided(
    utterances: Sequence[Utterance], held: Sequence[bool]
) -> tuple[tuple[Utterance, ...], tuple[Utterance, ...]]:
    pairs = list(zip(utterances, held, strict=True))
    return tuple(u for u, out in pairs if not out), tuple(u for u, out in pairs if out)


def _whose(train: Sequence[Utterance], test: Sequence[Utterance]) -> str:
    """What ``Splits.test_is`` says of two given manifests; refuses a clip that is in both."""
    trained_on = {(utterance.audio.resolve(), utterance.offset_s) for utterance in train}
    for utterance in test:
        if (utterance.audio.resolve(), utterance.offset_s) in trained_on:
            raise DataError(
                f"{utterance.audio} is both in data.corpus.train and in data.corpus.test; remove it from one of them."
            )
    speakers = {utterance.speaker for utterance in test}
    known = speakers & {utterance.speaker for utterance in train}
    if not known:
        return "held-out speakers"
    if known == speakers:
        return "held-out clips of training speakers"
    return f"a test manifest with {len(known)} of its {len(speakers)} speakers also in training"
