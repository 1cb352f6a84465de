"""Opinions with a sentiment, of which there are features but no recordings: CMU-MOSI and CMU-MOSEI."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.config import option
from sordino.data.corpus import CORPORA, Corpus, Splits
from sordino.data.feature_files import SEGMENT, read_pickled
from sordino.data.source import SPLIT, LeftOut
from sordino.data.tables import Table
from sordino.data.utterance import Utterance
from sordino.errors import ConfigError, DataError

__all__ = ["SENTIMENT", "SentimentFeatures"]

SENTIMENT: Final = "sentiment"
"""Attribute with the sentiment, a number in [-3, 3]."""

_HIGHEST: Final = 3.0
_COLUMNS: Final = ("video_id", "clip_id", "label", "mode")


@CORPORA.register("sentiment-features")
@dataclass(frozen=True, slots=True)
class SentimentFeatures(Corpus):
    """Segments of videos with a sentiment from -3 to 3, for models that read feature files; there is no sound.

    The labels are a table with the columns ``video_id``, ``clip_id``, ``label``, ``mode`` (train, valid or test) and,
    where it is there, ``text``. Each video has one speaker, who stands for it. Every utterance has the attributes
    ``sentiment`` and ``segment``; its ``audio`` is the table.
    """

    labels: Path = option("Table of labels, CSV; or a pickle that holds labels, if unpickle is set.")
    segment_name: str = option("What feature files call a segment.", "{video_id}[{clip_id}]")
    unpickle: bool = option(
        "Open a pickle, which can run any program while it is opened: only for files whose origin you trust.",
        default=False,
    )

    def __post_init__(self) -> None:
        try:
            self.segment_name.format(video_id="a", clip_id="0")
        except (KeyError, IndexError, ValueError, AttributeError):
            raise ConfigError(
                f"data.corpus.segment_name = {self.segment_name!r}: expected text with {{video_id}} and {{clip_id}}."
            ) from None

    def load(self, window_s: float) -> Splits:  # noqa: ARG002 - nothing here has a length
        path = self.labels.expanduser()
        pickled = path.suffix.lower() in (".pkl", ".pickle")
        items = tuple(self._pickled(path) if pickled else self._listed(path))
        by_split: dict[str, list[Utterance]] = {}
        for utterance in items:
            by_split.setdefault(utterance.attributes[SPLIT], []).append(utterance)
        if not by_split.keys() >= {"train", "test"}:
            raise DataError(
                f"{path} has the splits {', '.join(by_split) or 'none'}: expected train and test; complete it."
            )
        train, test = by_split.pop("train"), by_split.pop("test")
        both = {utterance.speaker for utterance in train} & {utterance.speaker for utterance in test}
        test_is = f"a test set with {len(both)} speakers also in training" if both else "held-out speakers"
        notes = tuple(f"left out {len(rest)} utterances of split {name}." for name, rest in by_split.items())
        return Splits(train=tuple(train), test=tuple(test), test_is=test_is, notes=notes)

    def _listed(self, path: Path) -> Iterator[Utterance]:
        table = Table(path)
        lacking = [name for name in _COLUMNS if name not in table.columns]
        if lacking:
            raise DataError(
                f"{path} has the columns {', '.join(table.columns)}: expected {lacking[0]} too; rename or add it."
            )
        for row in table:
            if isinstance(row, LeftOut):
                raise DataError(f"{path} {row.reason}.")
            segment = self.segment_name.format(video_id=row["video_id"], clip_id=row["clip_id"])
            yield _utterance(
                path, segment, row["label"], split=row["mode"], speaker=row["video_id"], text=row.get("text", "")
            )

    def _pickled(self, path: Path) -> Iterator[Utterance]:
        _, labels = read_pickled(path, unpickle=self.unpickle)
        for segment, (split, label) in labels.items():
            video = segment.partition("$_$")[0].partition("[")[0].partition("_")[0]
            yield _utterance(path, segment, str(label), split=split, speaker=video, text="")


def _utterance(path: Path, segment: str, label: str, *, split: str, speaker: str, text: str) -> Utterance:
    try:
        sentiment = float(label)
    except ValueError:
        sentiment = float("nan")
    if not abs(sentiment) <= _HIGHEST:
        raise DataError(
            f"{path}: segment {segment} has the label {label!r}: expected a number from -3 to 3; correct it."
        )
    attributes = {SENTIMENT: str(sentiment), SEGMENT: segment, SPLIT: split}
    return Utterance(audio=path, text=text, speaker=speaker, language="en", duration_s=0.0, attributes=attributes)
