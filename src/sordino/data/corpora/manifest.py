"""Any corpus that has a manifest, or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sordino._check import fraction
from sordino.config import option
from sordino.data.corpus import CORPORA, Corpus, Splits, readable, within_window
from sordino.data.holding_out import hold_out
from sordino.data.manifest import read_manifest
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Manifest"]


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
        else:
            division = hold_out(train, share=self.held_out, seed=self.seed)
            train, test, test_is = division.train, division.test, division.test_is
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


def _whose(train: Sequence[Utterance], test: Sequence[Utterance]) -> str:
    """What ``Splits.test_is`` says of two given manifests; refuses a clip that is in both."""
    trained_on = {_place(utterance) for utterance in train}
    for utterance in test:
        if _place(utterance) in trained_on:
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


def _place(utterance: Utterance) -> tuple[int, int, float]:
    """The same for the same piece of the same file, by whatever path; quicker than to resolve the path."""
    file = utterance.audio.stat()
    return file.st_dev, file.st_ino, utterance.offset_s
