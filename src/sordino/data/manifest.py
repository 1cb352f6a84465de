"""JSONL manifests in NeMo's style: one utterance a line.

``{"audio_filepath": "s1/0.flac", "duration": 1.25, "text": "zero", "speaker": "s1", "language": "en", "offset": 0.0}``

Paths are relative to the manifest. ``language`` and ``offset`` may be absent; any other key with a text value becomes
an attribute, and keys with other values are ignored.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sordino._check import did_you_mean
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
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); name a JSONL manifest.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; name a JSONL manifest, saved as UTF-8.") from None
    # Not str.splitlines: JSON strings may hold U+2028 and its like unescaped.
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            try:
                yield number, _utterance(path.parent, _record(line))
            except _BadLine as bad:
                yield number, Problem(number, *bad.args)


def _record(line: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise _BadLine("json", f"is not JSON ({error}); write one JSON object a line.") from None
    if not isinstance(record, dict):
        raise _BadLine(
            "json", f"is {type(record).__name__}, not a JSON object; write {{...}} with {', '.join(RESERVED_KEYS)}."
        )
    return record


def _utterance(folder: Path, record: Mapping[str, Any]) -> Utterance:
    audio = folder / _text(record, "audio_filepath", "give the recording's path, relative to the manifest")
    if not audio.is_file():
        raise _BadLine("missing", f"audio_filepath {str(audio)!r} does not exist; correct the path or remove the line.")
    return Utterance(
        audio=audio,
        text=_text(record, "text", "give the transcript", empty=True),
        speaker=_text(record, "speaker", "say who speaks, because privacy and clients are counted by speaker"),
        duration_s=_seconds(record, "duration"),
        language=_text({"language": "", **record}, "language", "give a language code or leave it out", empty=True),
        offset_s=_seconds({"offset": 0.0, **record}, "offset", zero=True),
        attributes={key: value for key, value in record.items() if key not in RESERVED_KEYS and isinstance(value, str)},
    )


def _text(record: Mapping[str, Any], key: str, remedy: str, *, empty: bool = False) -> str:
    if key not in record:
        raise _BadLine(key, f"has no {key!r}{did_you_mean(key, set(record) - set(RESERVED_KEYS))}; {remedy}.")
    value = record[key]
    if not isinstance(value, str) or not (value or empty):
        raise _BadLine(
            key, f"{key} = {value!r}: expected {'a text' if empty else 'a text that is not empty'}; {remedy}."
        )
    return value


def _seconds(record: Mapping[str, Any], key: str, *, zero: bool = False) -> float:
    if key not in record:
        raise _BadLine(key, f"has no {key!r}{did_you_mean(key, set(record) - set(RESERVED_KEYS))}; give it in seconds.")
    value = record[key]
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or value < 0 or (value == 0 and not zero):
        expected = "seconds, at least 0" if zero else "seconds above 0"
        raise _BadLine(key, f"{key} = {value!r}: expected {expected}; correct it or remove the line.")
    return float(value)


def write_manifest(path: Path, utterances: Iterable[Utterance]) -> None:
    """Writes a manifest that `read_manifest` reads back equal; a crash leaves the old file or the new one.

    Raises:
        DataError: an attribute has the name of one of the manifest's own keys.
    """
    base = path.parent.resolve()
    lines = (json.dumps(_to_record(utterance, base), ensure_ascii=False) + "\n" for utterance in utterances)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _to_record(utterance: Utterance, base: Path) -> dict[str, Any]:
    taken = sorted(set(utterance.attributes) & set(RESERVED_KEYS))
    if taken:
        raise DataError(f"attribute {taken[0]!r} of {utterance.key} is a key of the manifest itself; rename it.")
    record: dict[str, Any] = {
        "audio_filepath": Path(os.path.relpath(utterance.audio.resolve(), base)).as_posix(),
        "duration": utterance.duration_s,
        "text": utterance.text,
        "speaker": utterance.speaker,
    }
    if utterance.language:
        record["language"] = utterance.language
    if utterance.offset_s:
        record["offset"] = utterance.offset_s
    return record | dict(utterance.attributes)
