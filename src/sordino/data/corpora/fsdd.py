"""The Free Spoken Digit Dataset: six people, fifty recordings of each digit by each, 8 kHz.

Source: https://github.com/Jakobovski/free-spoken-digit-dataset (CC BY-SA 4.0); recordings 0 to 4 of each digit and
speaker are its official test set.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sordino._check import at_least, positive
from sordino.config import option
from sordino.data.audio import SAMPLE_RATE_HZ, audio_duration, read_audio, write_audio
from sordino.data.cache import cached_folder
from sordino.data.corpus import CORPORA, Corpus, Splits, readable, within_window
from sordino.data.digits import DIGITS
from sordino.data.manifest import read_manifest, write_manifest
from sordino.data.utterance import Utterance
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds

__all__ = ["FreeSpokenDigits", "official_files", "said_in"]

_TEST_INDICES: Final = range(5)
_GAP_S: Final = (0.03, 0.12)
_JOINING: Final = 1
"""Raise when the same options come to mean other samples."""


@CORPORA.register("fsdd")
@dataclass(frozen=True, slots=True)
class FreeSpokenDigits(Corpus):
    """Free Spoken Digit Dataset, single digits or strings joined from one person's clips of one split.

    ``path`` is the dataset's ``recordings`` folder (``7_george_12.wav``), the folder above it, or a folder with a
    manifest whose files are named ``7_12`` or ``7_george_12``. A test string holds test recordings only.
    """

    path: Path = option("Folder of the recordings.")
    digits_per_clip: tuple[int, int] = option(
        "Fewest and most digits joined into one utterance; [1, 1] joins none.", (1, 1)
    )
    train_strings: int = option("Joined training utterances of each speaker.", 200)
    test_strings: int = option("Joined test utterances of each speaker.", 40)
    seed: int = option("Fixes which clips are joined.", 0)

    def __post_init__(self) -> None:
        at_least("data.corpus.digits_per_clip", self.digits_per_clip[0], 1)
        at_least("data.corpus.digits_per_clip", self.digits_per_clip[1], self.digits_per_clip[0])
        at_least("data.corpus.train_strings", self.train_strings, 1)
        at_least("data.corpus.test_strings", self.test_strings, 1)

    def load(self, window_s: float) -> Splits:
        clips, notes = readable(self._recordings())
        train = tuple(clip for clip in clips if _index(clip) not in _TEST_INDICES)
        test = tuple(clip for clip in clips if _index(clip) in _TEST_INDICES)
        if not train or not test:
            raise DataError(
                f"{self.path} has {len(train)} training and {len(test)} test recordings (numbers 0 to 4); expected some "
                "of each; fetch the whole dataset."
            )
        train, long = within_window(train, window_s)
        notes += long
        if self.digits_per_clip != (1, 1):
            train, test = self._joined(train, test, window_s)
        return Splits(train=train, test=test, test_is="held-out clips of training speakers", notes=notes)

    def _recordings(self) -> Sequence[Utterance]:
        folder = self.path.expanduser()
        if not folder.is_dir():
            raise ConfigError(
                f"data.corpus.path = {str(self.path)!r} is no folder; name the dataset's recordings folder."
            )
        if (folder / "manifest.jsonl").is_file():
            return read_manifest(folder / "manifest.jsonl")
        return [_official(file) for file in official_files(folder)]

    def _joined(
        self, train: Sequence[Utterance], test: Sequence[Utterance], window_s: float
    ) -> tuple[tuple[Utterance, ...], tuple[Utterance, ...]]:
        positive("model.window_s", window_s)
        key = {
            "clips": [[clip.key, clip.audio.stat().st_size, clip.audio.stat().st_mtime_ns] for clip in (*train, *test)],
            "options": [self.digits_per_clip, self.train_strings, self.test_strings, self.seed],
            "window_s": window_s,
            "joining": _JOINING,
        }

        def build(folder: Path) -> None:
            strings = [*self._strings(folder, "train", self.train_strings, train, window_s)]
            strings += self._strings(folder, "test", self.test_strings, test, window_s)
            write_manifest(folder / "manifest.jsonl", strings)

        made = read_manifest(cached_folder(self.name, key, build) / "manifest.jsonl")
        return (
            tuple(utterance for utterance in made if utterance.attributes["split"] == "train"),
            tuple(utterance for utterance in made if utterance.attributes["split"] == "test"),
        )

    def _strings(
        self, folder: Path, split: str, count: int, clips: Sequence[Utterance], window_s: float
    ) -> Iterator[Utterance]:
        """Joins ``count`` strings for each speaker, dealing the clips so that all are used about equally often."""
        for speaker in sorted({clip.speaker for clip in clips}):
            own = [clip for clip in clips if clip.speaker == speaker]
            rng = Seeds(self.seed).at("fsdd", split, speaker).generator()
            hand: deque[Utterance] = deque()
            (folder / speaker).mkdir(exist_ok=True)
            for index in range(count):
                wanted = int(rng.integers(self.digits_per_clip[0], self.digits_per_clip[1] + 1))
                while len(hand) < wanted:
                    hand.extend(own[position] for position in rng.permutation(len(own)))
                chosen, audio = _join(tuple(islice(hand, wanted)), rng, window_s)
                for _ in chosen:
                    hand.popleft()
                file = folder / speaker / f"{split}-{index:04d}.flac"
                text = " ".join(clip.text for clip in chosen)
                yield replace(
                    chosen[0],
                    audio=file,
                    text=text,
                    duration_s=write_audio(file, audio),
                    attributes={"split": split, "clips": " ".join(clip.audio.stem for clip in chosen)},
                )


def official_files(folder: Path) -> list[Path]:
    """The recordings of the dataset's own layout, which may lie in a ``recordings`` folder.

    Raises:
        DataError: there is none.
    """
    inner = folder / "recordings"
    found = sorted((inner if inner.is_dir() else folder).glob("*.wav"))
    if not found:
        raise DataError(f"{folder} holds no recording such as 7_george_12.wav; name the dataset's recordings folder.")
    return found


def said_in(file: Path, *, duration_s: float) -> Utterance:
    """The utterance that a file's name tells of; raises DataError if it is not named like ``7_george_12.wav``."""
    match = re.fullmatch(r"(\d)_(.+)_(\d+)", file.stem)
    if not match:
        raise DataError(f"{file} is not named like 7_george_12.wav; rename it or move it away.")
    digit, speaker, _ = match.groups()
    return Utterance(audio=file, text=DIGITS["en"][int(digit)], speaker=speaker, duration_s=duration_s, language="en")


def _official(file: Path) -> Utterance:
    try:
        duration_s = audio_duration(file)
    except DataError:
        duration_s = 0.0  # `readable` leaves it out and says so
    return said_in(file, duration_s=duration_s)


def _index(clip: Utterance) -> int:
    match = re.fullmatch(r"\d_(?:.+_)?(\d+)", clip.audio.stem)
    if not match:
        raise DataError(f"{clip.audio} has no recording number; name it like 7_12 or 7_george_12.")
    return int(match.group(1))


def _join(
    clips: Sequence[Utterance], rng: np.random.Generator, window_s: float
) -> tuple[Sequence[Utterance], npt.NDArray[np.float32]]:
    """The first of ``clips``, as many as fit into the window, one after another with short gaps."""
    limit = int(window_s * SAMPLE_RATE_HZ)
    audio = read_audio(clips[0].audio)
    for count, clip in enumerate(clips[1:], start=1):
        gap = np.zeros(int(rng.uniform(*_GAP_S) * SAMPLE_RATE_HZ), np.float32)
        longer = np.concatenate([audio, gap, read_audio(clip.audio)])
        if len(longer) > limit:
            return clips[:count], audio
        audio = longer
    return clips, audio
