"""One recorded sentence and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Utterance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A piece of a recording with its transcript; the audio stays on disk.

    Attributes:
        audio: the recording.
        text: what was said; may be empty.
        speaker: who said it, the unit that privacy protects.
        duration_s: length in seconds, as the manifest has it.
        language: language code, empty where unknown.
        offset_s: where in the recording it starts.
        attributes: anything else that is text, e.g. ``{"gender": "female"}``.
    """

    audio: Path
    text: str
    speaker: str
    duration_s: float
    language: str = ""
    offset_s: float = 0.0
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        """Identity of the audio: file, offset and length."""
        return f"{self.audio}@{self.offset_s}+{self.duration_s}"
