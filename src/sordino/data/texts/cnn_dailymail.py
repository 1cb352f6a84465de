"""CNN/DailyMail: news articles and their highlights."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.config import option
from sordino.data.texts.base import TEXTS, Example, TextSet, readable_text

__all__ = ["CnnDailyMail"]


@TEXTS.register("cnn-dailymail")
@dataclass(frozen=True, slots=True, kw_only=True)
class CnnDailyMail(TextSet):
    """CNN/DailyMail: ``train.csv`` and ``test.csv`` with the columns ``article`` and ``highlights``.

    Source: Hermann et al., Teaching machines to read and comprehend, 2015; See et al., Get to the point, 2017.
    """

    path: Path = option("The folder of the corpus.")

    def read(self) -> Iterator[Example]:
        """See `TextSet.read`."""
        csv.field_size_limit(sys.maxsize >> 1)  # articles are longer than the 131 kB that csv allows
        for split in ("train", "test"):
            file = self.path / f"{split}.csv"
            with readable_text(file), file.open(encoding="utf-8", newline="") as rows:
                for row in csv.DictReader(rows):
                    yield Example(text=row["article"], target=row["highlights"], split=split)
