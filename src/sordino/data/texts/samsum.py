"""SAMSum: chats and their summaries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.config import option
from sordino.data.texts.base import TEXTS, Example, TextSet, readable_text

__all__ = ["SamSum"]


@TEXTS.register("samsum")
@dataclass(frozen=True, slots=True, kw_only=True)
class SamSum(TextSet):
    """SAMSum: ``train.json`` and ``test.json``, each a list of ``dialogue`` and ``summary``.

    Source: Gliwa et al., SAMSum corpus: a human-annotated dialogue dataset for abstractive summarization, 2019.
    """

    path: Path = option("The folder of the corpus.")

    def read(self) -> Iterator[Example]:
        """See `TextSet.read`."""
        for split in ("train", "test"):
            file = self.path / f"{split}.json"
            with readable_text(file):
                for row in json.loads(file.read_text(encoding="utf-8")):
                    yield Example(text=str(row["dialogue"]), target=str(row["summary"]), split=split)
