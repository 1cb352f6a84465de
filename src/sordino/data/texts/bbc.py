"""BBC news: whole articles in five topics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.config import option
from sordino.data.texts.base import TEXTS, Example, TextSet, readable_text
from sordino.errors import DataError

__all__ = ["BbcNews"]


@TEXTS.register("bbc")
@dataclass(frozen=True, slots=True, kw_only=True)
class BbcNews(TextSet):
    """BBC news articles: a folder for each topic (business, entertainment, politics, sport, tech) with a text file each.

    Source: Greene and Cunningham, Practical solutions to the problem of diagonal dominance in kernel document clustering,
    2006.
    """

    path: Path = option("The folder of the corpus.")

    def read(self) -> Iterator[Example]:
        """See `TextSet.read`."""
        files = sorted(self.path.glob("*/*.txt"))
        if not files:
            raise DataError(f"{self.path} has no topic/number.txt; name the folder that holds the topics' folders.")
        for file in files:
            with readable_text(file):
                text = " ".join(file.read_text(encoding="utf-8", errors="replace").split())
            yield Example(text=text, label=file.parent.name)
