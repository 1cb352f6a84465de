"""IWSLT: talks and their translations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.config import option
from sordino.data.texts.base import TEXTS, Example, TextSet, readable_text

__all__ = ["Iwslt"]


@TEXTS.register("iwslt")
@dataclass(frozen=True, slots=True, kw_only=True)
class Iwslt(TextSet):
    """IWSLT 2017: ``train.tags.SOURCE-TARGET.{SOURCE,TARGET}`` and the ``IWSLT17.TED.tst*.xml`` files, segment by segment.

    Source: Cettolo et al., Overview of the IWSLT 2017 evaluation campaign, 2017.
    """

    path: Path = option("The folder of the language pair.")
    source: str = option("Language to translate from.", "en")
    target: str = option("Language to translate to.", "de")

    def read(self) -> Iterator[Example]:
        """See `TextSet.read`."""
        pair = f"{self.source}-{self.target}"
        train = [self.path / f"train.tags.{pair}.{side}" for side in (self.source, self.target)]
        yield from self._pairs(train, "train", re.compile(r"^[ \t]*(?![ \t<])(.*\S)", re.MULTILINE))
        for file in sorted(self.path.glob(f"IWSLT17.TED.tst*.{pair}.{self.source}.xml")):
            other = file.with_name(file.name.replace(f".{self.source}.xml", f".{self.target}.xml"))
            yield from self._pairs([file, other], "test", re.compile(r"<seg[^>]*>\s*(.*?)\s*</seg>", re.DOTALL))

    def _pairs(self, files: list[Path], split: str, segment: re.Pattern[str]) -> Iterator[Example]:
        """What matches ``segment`` in two files, side by side."""
        with readable_text(files[0]):
            sides = [segment.findall(file.read_text(encoding="utf-8")) for file in files]
            for text, target in zip(*sides, strict=True):
                yield Example(text=text, target=target, split=split)
