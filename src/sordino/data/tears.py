"""Whether a recording was cut off, as by a broken download: libsndfile reads what is left without a word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import soundfile

__all__ = ["missing_part"]

_PROMISED: Final = re.compile(r"^\s*(?:data|SSND|Data Size)\s*: (\d+) \(should be (\d+)\)", re.MULTILINE)
"""What libsndfile logs of the bytes that a WAV, AIFF or AU header promises and of those that are there."""

_SLACK_BYTES: Final = 1024
_STREAMED_BYTES: Final = 0x7FFF0000
"""Headers written before the length was known promise this or more."""

_OGG_PAGE: Final = b"OggS"
_OGG_HEADER_BYTES: Final = 27
_OGG_PAGE_BYTES: Final = _OGG_HEADER_BYTES + 255 + 255 * 255


def missing_part(path: Path, file: soundfile.SoundFile) -> str | None:
    """How a recording shows that its end is missing, as the end of a sentence, or None.

    FLAC needs no such look: reading it fails. MP3 neither: it yields fewer samples than its header says.

    Args:
        path: the recording.
        file: the same, open.
    """
    if file.format == "OGG":
        return "it ends within a page" if _ends_within_page(path) else None
    promised = _PROMISED.search(file.extra_info)
    if promised and int(promised[2]) + _SLACK_BYTES < int(promised[1]) < _STREAMED_BYTES:
        return f"its header promises {promised[1]} bytes of sound, and {promised[2]} are there"
    return None


def _ends_within_page(path: Path) -> bool:
    """Whether the last page of an Ogg file is shorter than its header says; RFC 3533, section 6."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _OGG_PAGE_BYTES))
        end = file.read()
    page = end[end.rfind(_OGG_PAGE) :]
    if len(page) < _OGG_HEADER_BYTES:
        return True
    lengths = page[_OGG_HEADER_BYTES : _OGG_HEADER_BYTES + page[_OGG_HEADER_BYTES - 1]]
    return len(page) < _OGG_HEADER_BYTES + page[_OGG_HEADER_BYTES - 1] + sum(lengths)
