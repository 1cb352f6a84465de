"""Metadata tables beside recordings: CSV, TSV, JSON lines or Parquet, whatever their columns are called."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from sordino.data.source import LeftOut
from sordino.errors import ConfigError, DataError

__all__ = ["COLUMNS", "TABLE_SUFFIXES", "Table"]

TABLE_SUFFIXES: Final = (".csv", ".tsv", ".jsonl", ".parquet")
"""Endings of the files that `Table` reads."""

Row = Mapping[str, str]

_DELIMITERS: Final = ",;\t|"
"""What stands between the columns of a ``.csv``: whichever the heading has most of."""

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
    """A metadata table: rows of texts under the names of its columns, read anew each time one goes through them.

    A row with more fields than there are columns, as from a tab inside a text, comes as a `LeftOut`.

    Args:
        path: ``.csv`` (commas, semicolons, tabs or bars), ``.tsv``, ``.jsonl`` or ``.parquet``; UTF-8, with a heading.
        may_be_empty: whether a heading alone will do.

    Raises:
        DataError: unreadable, not UTF-8, or without a row.
        ConfigError: Parquet without the extra that reads it.
    """

    def __init__(self, path: Path, *, may_be_empty: bool = False) -> None:
        self.path = path
        columns: dict[str, None] = {}
        count = 0
        for item in _items(path):  # all of it, so that no damage shows up after an hour of recordings
            if not isinstance(item, LeftOut):
                columns |= dict.fromkeys(item)
                count += 1
        self.columns: Sequence[str] = list(columns) or _heading(path)
        if not count and not (may_be_empty and self.columns):
            raise DataError(f"{path} has no row; write a heading and one row a recording.")

    def __iter__(self) -> Iterator[Row | LeftOut]:
        return _items(self.path)

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


def _items(path: Path) -> Iterator[Row | LeftOut]:
    if path.suffix.lower() == ".parquet":
        yield from _parquet_rows(path)
        return
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _json_rows(path, file) if path.suffix.lower() == ".jsonl" else _separated_rows(path, file)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); name a CSV, TSV, JSONL or Parquet table.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; save it again as UTF-8 (in a spreadsheet: 'CSV UTF-8').") from None


def _heading(path: Path) -> list[str]:
    """The columns of a CSV or TSV table without rows."""
    if path.suffix.lower() not in (".csv", ".tsv"):
        return []
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [name.strip() for name in next(_reader(path, file), [])]


def _reader(path: Path, file: IO[str]) -> Any:
    if path.suffix.lower() == ".tsv":  # quotes in TSV files are text, as in Common Voice
        return csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    first = file.readline()
    file.seek(0)
    return csv.reader(file, delimiter=max(_DELIMITERS, key=first.count), strict=True)


def _separated_rows(path: Path, file: IO[str]) -> Iterator[Row | LeftOut]:
    reader = _reader(path, file)
    begins = 1
    try:
        columns = [name.strip() for name in next(reader, [])]
        _require_different(path, columns)
        begins = reader.line_num + 1
        for fields in reader:
            if any(field.strip() for field in fields[len(columns) :]):
                reason = (
                    f"has {len(fields)} fields in line {begins}, but {len(columns)} in its heading; correct that line"
                )
                yield LeftOut(path, "row", reason)
            elif fields:
                yield {name: field.strip() for name, field in zip(columns, fields, strict=False)}
            begins = reader.line_num + 1
    except csv.Error as error:  # strict, so that a quote left open does not swallow the rows behind it
        raise DataError(f"{path}: the row that begins in line {begins} is damaged ({error}); correct it.") from None


def _require_different(path: Path, columns: Sequence[str]) -> None:
    """Columns without a name, as spreadsheets leave behind, may be many."""
    twice = [name for name, times in Counter(columns).items() if name and times > 1]
    if twice:
        raise DataError(f"{path} has several columns {twice[0]!r}; rename all but the one that counts.")


def _json_rows(path: Path, file: IO[str]) -> Iterator[Row]:
    for number, line in enumerate(file, start=1):
        if line.isspace():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError) as error:  # also a number of too many digits
            raise DataError(f"{path}, line {number} is not JSON ({error}); correct that line.") from None
        if not isinstance(record, dict):
            raise DataError(f"{path}, line {number} is no JSON object; write {{...}}.")
        yield _as_texts(record)


def _parquet_rows(path: Path) -> Iterator[Row]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ConfigError(f"{path} is a Parquet table; to read it: pip install 'sordino[hub]'") from None
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from map(_as_texts, batch.to_pylist())
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"{path} cannot be read as a Parquet table ({str(error).strip()}); copy it again.") from None


def _as_texts(record: Mapping[str, Any]) -> Row:
    return {key: str(value).strip() for key, value in record.items() if isinstance(value, str | int | float)}
