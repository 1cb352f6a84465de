"""Any texts of one's own: a line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.config import option
from sordino.data.texts.base import TEXTS, Example, TextSet, readable_text

__all__ = ["JsonLines"]

_FIELDS = ("text", "label", "second", "target", "split")


@TEXTS.register("jsonl")
@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines(TextSet):
    """JSON lines with ``text``, ``label`` or ``target``, and ``second`` and ``split`` if need be; all else is attributes."""

    path: Path = option("The file.")

    def read(self) -> Iterator[Example]:
        """See `TextSet.read`."""
        with readable_text(self.path), self.path.open(encoding="utf-8") as file:
            for line in file:
                row = {str(key): str(value) for key, value in json.loads(line).items()}
                known = {name: row.pop(name) for name in _FIELDS if name in row}
                yield Example(**known, attributes=row)
