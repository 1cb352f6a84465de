"""JSONL manifests in NeMo's style: one utterance a line.

``{"audio_filepath": "s1/0.flac", "duration": 1.25, "text": "zero", "speaker": "s1", "language": "en", "offset": 0.0}``

Paths are relative to the manifest. ``language`` and ``offset`` may be absent; any other key with a text value becomes
an attribute, and keys with other values are ignored.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sordino._check import did_you_mean
from sordino.data.collector import without_collector
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["RESERVED_KEYS", "Problem", "parse_manifest", "read_manifest", "write_manifest"]

RESERVED_KEYS: Final = ("audio_filepath", "duration", "text", "speaker", "language", "offset")
"""Keys that mean something; all others are attributes."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with one line of a manifest.

    Attributes:
        line: counted from 1.
        kind: one word for tallies, e.g. ``"speaker"`` or ``"silent"``.
        message: what was found, what was expected and what to do.
    """

    line: int
    kind: str
    message: str


class _BadLine(Exception):
    """Carries kind and message of a `Problem` out of the parser."""


def read_manifest(path: Path) -> list[Utterance]:
    """Reads a manifest; audio files must exist but are not opened.

    Raises:
        DataError: the file is missing, not UTF-8 text or empty, or a line is unusable; names the first such line and
            counts the others.
    """
    utterances: list[Utterance] = []
    problems: list[Problem] = []
    with without_collector():
        for _, item in parse_manifest(path):
            if isinstance(item, Problem):
                problems.append(item)
            else:
                utterances.append(item)
    if problems:
        more = f" ({len(problems) - 1} more such lines; see: sordino data check)" if len(problems) > 1 else ""
        raise DataError(f"{path}, line {problems[0].line}: {problems[0].message}{more}")
    if not utterances:
        raise DataError(f"{path} has no utterance; write one JSON object a line, with {', '.join(RESERVED_KEYS[:4])}.")
    return utterances


def parse_manifest(path: Path) -> Iterator[tuple[int, Utterance | Problem]]:
    """Yields the line number and either the utterance or what is wrong with it, for each line that is not blank.

    Raises:
        DataError: the file is missing or not UTF-8 text.
    """
    places = _Places(path.parent)
    try:
        # In binary, where only \n ends a line: JSON strings may hold U+2028 and its like unescaped.
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                if not line.isspace():
                    try:
                        yield number, _utterance(places, _record(line))
                    except _BadLine as bad:
                        yield number, Problem(number, *bad.args)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); name a JSONL manifest.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; name a JSONL manifest, saved as UTF-8.") from None


class _Places:
    """Where a manifest's recordings are. Each folder is listed once, which is quicker than to look up each file."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._folders: dict[str, tuple[Path, frozenset[str]]] = {}

    def find(self, name: str) -> Path:
        """The recording; raises _BadLine if there is none."""
        head, slash, last = name.rpartition("/")
        known = self._folders.get(head + slash)
        if known is None:
            known = self._folders[head + slash] = _listed(self._base / (head + slash))
        folder, files = known
        audio = folder / last
        # Some file systems find a name that they list in another form, in capitals or with its accents apart.
        if last not in files and not _is_file(audio):
            raise _BadLine(
                "missing", f"audio_filepath {str(audio)!r} does not exist; correct the path or remove the line."
            )
        return audio


def _listed(folder: Path) -> tuple[Path, frozenset[str]]:
    try:
        with os.scandir(folder) as entries:
            return folder, frozenset(entry.name for entry in entries if entry.is_file())
    except (OSError, ValueError):  # absent, closed to us, or a name that no folder can have
        return folder, frozenset()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long
        return False


def _record(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:  # also a number of too many digits
        raise _BadLine("json", f"is not JSON ({error}); write one JSON object a line.") from None
    if not isinstance(record, dict):
        raise _BadLine(
            "json", f"is {type(record).__name__}, not a JSON object; write {{...}} with {', '.join(RESERVED_KEYS)}."
        )
    return record


def _utterance(places: _Places, record: dict[str, Any]) -> Utterance:
    """The utterance of one line. A million lines say the same few things, so speakers and attributes are interned."""
    intern = sys.intern
    return Utterance(
        audio=places.find(_text(record, "audio_filepath", "give the recording's path, relative to the manifest")),
        text=_text(record, "text", "give the transcript", empty=True),
        speaker=intern(_text(record, "speaker", "say who speaks, because privacy and clients are counted by speaker")),
        duration_s=_seconds(record, "duration"),
        language=intern(_text(record, "language", "give a language code or leave it out", empty=True))
        if "language" in record
        else "",
        offset_s=_seconds(record, "offset", zero=True) if "offset" in record else 0.0,
        attributes={
            intern(key): intern(value)
            for key, value in record.items()
            if key not in RESERVED_KEYS and isinstance(value, str)
        },
    )


def _text(record: Mapping[str, Any], key: str, remedy: str, *, empty: bool = False) -> str:
    value = record.get(key)
    if isinstance(value, str) and (value or empty):
        return value
    if key not in record:
        raise _BadLine(key, f"has no {key!r}{did_you_mean(key, set(record) - set(RESERVED_KEYS))}; {remedy}.")
    raise _BadLine(key, f"{key} = {value!r}: expected {'a text' if empty else 'a text that is not empty'}; {remedy}.")


def _seconds(record: Mapping[str, Any], key: str, *, zero: bool = False) -> float:
    value: Any = record.get(key)
    number = isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool))
    if number and (0 < value <= sys.float_info.max or (value == 0 and zero)):
        return float(value)
    if key not in record:
        raise _BadLine(key, f"has no {key!r}{did_you_mean(key, set(record) - set(RESERVED_KEYS))}; give it in seconds.")
    expected = "seconds, at least 0" if zero else "seconds above 0"
    raise _BadLine(key, f"{key} = {value!r}: expected {expected}; correct it or remove the line.")


def write_manifest(path: Path, utterances: Iterable[Utterance]) -> None:
    """Writes a manifest that `read_manifest` reads back equal; a crash leaves the old file or the new one.

    Raises:
        DataError: an attribute has the name of one of the manifest's own keys.
    """
    base = path.parent.resolve()

    @functools.cache  # a folder holds many recordings, and each part of its path costs a look at the disk
    def relative(folder: Path) -> Path:
        return Path(os.path.relpath(folder.resolve(), base))

    lines = (json.dumps(_to_record(utterance, relative), ensure_ascii=False) + "\n" for utterance in utterances)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _to_record(utterance: Utterance, relative: Callable[[Path], Path]) -> dict[str, Any]:
    taken = sorted(set(utterance.attributes) & set(RESERVED_KEYS))
    if taken:
        raise DataError(f"attribute {taken[0]!r} of {utterance.key} is a key of the manifest itself; rename it.")
    record: dict[str, Any] = {
        "audio_filepath": (relative(utterance.audio.parent) / utterance.audio.name).as_posix(),
        "duration": utterance.duration_s,
        "text": utterance.text,
        "speaker": utterance.speaker,
    }
    if utterance.language:
        record["language"] = utterance.language
    if utterance.offset_s:
        record["offset"] = utterance.offset_s
    return record | dict(utterance.attributes)
