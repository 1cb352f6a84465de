"""Text files with a name and something about it on each line, as speech corpora have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sordino.errors import DataError

__all__ = ["GENDERS", "keyed_lines", "read_genders"]

GENDERS: Final[Mapping[str, str]] = {"f": "female", "m": "male"}
"""Gender by the letter that LibriSpeech, Multilingual LibriSpeech and Kaldi write, in lower case."""


def keyed_lines(path: Path, separator: str | None = None) -> Iterator[tuple[int, str, str]]:
    """The number, the name and the rest of each line that is not blank, read one by one.

    Args:
        path: UTF-8, with or without a byte order mark, lines ended by LF or CRLF.
        separator: what stands between name and rest; any white space if not given.

    Raises:
        DataError: unreadable, or not UTF-8; names the line.
    """
    try:
        # In binary, where only \n ends a line: transcripts may hold U+2028 and its like.
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                except UnicodeDecodeError:
                    raise DataError(f"{path}, line {number} is not UTF-8 text; save the file again as UTF-8.") from None
                if line:
                    name, *rest = line.split(separator, maxsplit=1)
                    yield number, name.strip(), rest[0].strip() if rest else ""
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); copy it again.") from None


def read_genders(path: Path) -> Mapping[str, str]:
    """Gender by speaker from a table such as LibriSpeech's ``SPEAKERS.TXT``: ``id | F | subset | minutes | name``.

    Empty where there is no such file.
    """
    if not path.is_file():
        return {}
    # The names of readers, which nobody needs here, come in several encodings.
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    rows = ([field.strip() for field in line.split("|")] for line in lines if not line.startswith(";"))
    return {row[0]: GENDERS[row[1].lower()] for row in rows if len(row) >= 2 and row[1].lower() in GENDERS}
