"""Financial PhraseBank: sentences of financial news and what they mean for an investor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.config import option
from sordino.data.texts.base import TEXTS, Example, TextSet, readable_text

__all__ = ["FinancialPhraseBank"]


@TEXTS.register("financial-phrasebank")
@dataclass(frozen=True, slots=True, kw_only=True)
class FinancialPhraseBank(TextSet):
    """Financial PhraseBank: ``positive``, ``neutral`` or ``negative`` for an investor.

    ``path`` is one of the published files (``Sentences_AllAgree.txt``: sentence, ``@``, label; Latin-1), or JSON lines with
    ``text`` and ``label``.

    Source: Malo et al., Good debt or bad debt: detecting semantic orientations in economic texts, 2014.
    """

    path: Path = option("The file.")

    def read(self) -> Iterator[Example]:
        """See `TextSet.read`."""
        with readable_text(self.path):
            lines = self.path.suffix == ".jsonl"
            text = self.path.read_text(encoding="utf-8" if lines else "latin-1")
            for line in filter(None, text.splitlines()):
                if lines:
                    row = json.loads(line)
                    sentence, label = str(row["text"]), str(row["label"])
                else:
                    sentence, sign, label = line.rpartition("@")
                    if not sign:
                        raise ValueError("a line without @")
                yield Example(text=sentence.strip(), label=label.strip())
