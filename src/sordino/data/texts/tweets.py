"""Tweets in the layout of TweetEval: emotion, irony, hate, offence, sentiment, stance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.config import option
from sordino.data.texts.base import TEXTS, Example, TextSet, readable_text

__all__ = ["Tweets"]


@TEXTS.register("tweets")
@dataclass(frozen=True, slots=True, kw_only=True)
class Tweets(TextSet):
    """One task of TweetEval: ``mapping.txt`` (number, tab, label) and ``{train,test}_{text,labels}.txt``, line by line.

    Source: Barbieri et al., TweetEval: unified benchmark and comparative evaluation for tweet classification, 2020.
    """

    path: Path = option("The folder of the task, e.g. datasets/emotion.")

    def read(self) -> Iterator[Example]:
        """See `TextSet.read`."""
        mapping = self.path / "mapping.txt"
        with readable_text(mapping):
            names = dict(line.split("\t")[:2] for line in mapping.read_text(encoding="utf-8").splitlines() if line)
        for split in ("train", "test"):
            texts, labels = (self.path / f"{split}_{kind}.txt" for kind in ("text", "labels"))
            with readable_text(texts):
                # Only a line feed ends a tweet: some hold other characters that count as line ends.
                lines = texts.read_text(encoding="utf-8").removesuffix("\n").split("\n")
                numbers = labels.read_text(encoding="utf-8").split()
                for text, number in zip(lines, numbers, strict=True):
                    yield Example(text=text.strip(), label=names[number], split=split)
