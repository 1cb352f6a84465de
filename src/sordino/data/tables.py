"""Metadata tables beside recordings: CSV, TSV or JSON lines, whatever their columns are called."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sordino.errors import DataError

__all__ = ["COLUMNS", "Table"]

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "path": ("path", "file_name", "audio_filepath", "filename", "file", "audio", "wav", "audio_path", "audio_file"),
    "text": ("text", "transcript", "transcription", "sentence", "normalized_text", "utterance"),
    "speaker": (
        "speaker",
        "speaker_id",
        "client_id",
        "spk",
        "spk_id",
        "speakerid",
        "subject",
        "participant",
        "patient",
    ),
    "language": ("language", "lang", "locale"),
}
"""Names that each column is known by, the likeliest first; upper and lower case are the same."""


class Table:
    """A metadata table: rows of texts under the names of its columns.

    Args:
        path: ``.csv`` (commas or semicolons), ``.tsv``, or ``.jsonl``; UTF-8, with a heading.

    Raises:
        DataError: unreadable, not UTF-8, or without a row.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Mapping[str, str]] = list(_rows(path, _content(path)))
        if not self.rows:
            raise DataError(f"{path} has no row; write a heading and one row a recording.")
        self.columns: Sequence[str] = list(self.rows[0])

    def column(self, role: str, wanted: str = "") -> str | None:
        """The column that holds the path, text, speaker or language.

        Args:
            role: key of `COLUMNS`.
            wanted: its name, if the user gave one.

        Raises:
            DataError: there is no column ``wanted``.
        """
        if wanted:
            if wanted not in self.columns:
                raise DataError(
                    f"{self.path} has no column {wanted!r} for the {role}; choose among its columns: "
                    f"{', '.join(self.columns)}."
                )
            return wanted
        by_name = {column.strip().lower(): column for column in self.columns}
        return next((by_name[name] for name in COLUMNS[role] if name in by_name), None)

    def require(self, role: str, wanted: str = "") -> str:
        """As `column`, but raises DataError with the columns that are there if none fits."""
        found = self.column(role, wanted)
        if found is None:
            raise DataError(
                f"{self.path} has the columns {', '.join(self.columns)}, none of which is known to hold the {role} "
                f"({', '.join(COLUMNS[role])}); rename one, or name it with --set {role}_column=..."
            )
        return found


def _content(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); name a CSV, TSV or JSONL table.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; save it again as UTF-8 (in a spreadsheet: 'CSV UTF-8').") from None


def _rows(path: Path, content: str) -> Iterator[Mapping[str, str]]:
    if path.suffix.lower() == ".jsonl":
        yield from _records(path, content)
        return
    lines = content.splitlines(keepends=True)
    if path.suffix.lower() == ".tsv":  # quotes in TSV files are text, as in Common Voice
        reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        heading = lines[0] if lines else ""
        reader = csv.DictReader(lines, delimiter=";" if heading.count(";") > heading.count(",") else ",")
    try:
        for row in reader:
            yield {key: value.strip() for key, value in row.items() if isinstance(key, str) and isinstance(value, str)}
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}; correct that line.") from None


def _records(path: Path, content: str) -> Iterator[Mapping[str, str]]:
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"{path}, line {number} is not JSON ({error}); correct that line.") from None
        if not isinstance(record, dict):
            raise DataError(f"{path}, line {number} is no JSON object; write {{...}}.")
        yield {key: str(value).strip() for key, value in record.items() if isinstance(value, str | int | float)}
