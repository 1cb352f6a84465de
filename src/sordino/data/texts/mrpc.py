"""Microsoft Research Paraphrase Corpus: do two sentences say the same?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.config import option
from sordino.data.texts.base import TEXTS, Example, TextSet, readable_text

__all__ = ["Mrpc"]


@TEXTS.register("mrpc")
@dataclass(frozen=True, slots=True, kw_only=True)
class Mrpc(TextSet):
    """Microsoft Research Paraphrase Corpus: ``equivalent`` or ``different``.

    ``path`` is the folder with ``msr_paraphrase_train.txt`` and ``msr_paraphrase_test.txt``: tab-separated, a heading, then
    quality, two ids and two sentences.

    Source: Dolan and Brockett, Automatically constructing a corpus of sentential paraphrases, 2005.
    """

    path: Path = option("The folder of the corpus.")

    def read(self) -> Iterator[Example]:
        """See `TextSet.read`."""
        for split in ("train", "test"):
            file = self.path / f"msr_paraphrase_{split}.txt"
            with readable_text(file):
                # Split by hand: the sentences hold unpaired quotation marks, which mean nothing here.
                for line in file.read_text(encoding="utf-8-sig").splitlines()[1:]:
                    quality, _, _, first, second = line.split("\t")
                    label = {"0": "different", "1": "equivalent"}[quality]
                    yield Example(text=first, second=second, label=label, split=split)
