"""Common Voice's own layout: ``de/clips/*.mp3`` with ``train.tsv``, ``dev.tsv``, ``test.tsv`` and others beside.

The speaker is ``client_id``, one account: a person with two accounts counts as two speakers, which no file can tell.

Source: https://commonvoice.mozilla.org (CC0 1.0); Ardila et al., "Common Voice", LREC 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.config import option
from sordino.data.recordings import require_folder
from sordino.data.source import SOURCES, SPLIT, TO_END, LeftOut, Source
from sordino.data.tables import Table
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["CommonVoice"]

_SPLITS: Final = ("train", "dev", "test")
_NEEDED: Final = ("client_id", "path", "sentence")
_KEPT: Final = ("gender", "age", "accents", "accent", "variant")


@SOURCES.register("commonvoice")
@dataclass(frozen=True, slots=True)
class CommonVoice(Source):
    """Common Voice: a language's folder, with clips and tables inside, or the folder above several languages."""

    tables: str = option(
        "Tables to read, e.g. validated or train,test; without any, train, dev and test, or validated if those are absent.",
        "",
    )
    language: str = option("Language code, where neither the table nor the folder gives it.", "")

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads table by table; the table is the split, and gender, age, accents and variant become attributes."""
        require_folder(folder)
        places = [clips.parent for depth in ("", "*/", "*/*/") for clips in sorted(folder.glob(depth + "clips"))]
        tables = [file for place in places for file in self._tables(place)]
        if not tables:
            raise DataError(
                f"{folder} has no clips folder with tables such as train.tsv or validated.tsv beside it; name the folder of "
                "a language, such as cv-corpus-21.0/de."
            )
        read = [_checked(file) for file in tables]
        for table in read:
            yield from self._listed(table)

    def _tables(self, place: Path) -> Sequence[Path]:
        if self.tables:
            wanted = [place / f"{name.strip().removesuffix('.tsv')}.tsv" for name in self.tables.split(",")]
            lacking = [file.name for file in wanted if not file.is_file()]
            if lacking:
                there = ", ".join(sorted(file.stem for file in place.glob("*.tsv")))
                raise DataError(f"{place} has no {' and no '.join(lacking)}; choose among the tables there: {there}.")
            return wanted
        found = [file for name in _SPLITS if (file := place / f"{name}.tsv").is_file()]
        return found or [file for file in (place / "validated.tsv",) if file.is_file()]

    def _listed(self, table: Table) -> Iterator[Utterance | LeftOut]:
        clips = table.path.parent / "clips"
        inferred = self.language or table.path.resolve().parent.name
        for row in table:
            if isinstance(row, LeftOut):
                yield row
                continue
            if not row.get("path"):
                yield LeftOut(table.path, "row", f"names no recording in a row of {row.get('client_id', '')!r}")
                continue
            audio = clips / row["path"]
            if not audio.suffix:  # the first releases
                audio = audio.with_suffix(".mp3")
            kept = {name: row.get(name, "") for name in _KEPT}
            yield Utterance(
                audio=audio,
                text=row.get("sentence", ""),
                speaker=row.get("client_id", ""),
                language=row.get("locale", "") or inferred,
                duration_s=TO_END,
                attributes={SPLIT: table.path.stem} | {name: value for name, value in kept.items() if value},
            )


def _checked(file: Path) -> Table:
    table = Table(file, may_be_empty=True)
    lacking = [name for name in _NEEDED if name not in table.columns]
    if lacking:
        raise DataError(
            f"{file} has no column {' and no '.join(lacking)}, so it is no table of Common Voice; prepare it with: "
            f"sordino data prepare folder {file.parent} OUT"
        )
    return table
