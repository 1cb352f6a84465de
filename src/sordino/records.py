"""The run folder: what a run leaves behind, and how it is written so that a crash never leaves half of a file.

| file | content |
|---|---|
| ``config.toml`` | the resolved experiment |
| ``rounds.jsonl`` | one line a round; under private telemetry nothing that the guarantee does not cover |
| ``ledger.jsonl`` | every charge (`sordino.privacy.ledger`) |
| ``privacy.json`` | the guarantee in numbers and words |
| ``result.json`` | what ``sordino run --json`` prints, the error rates by speaker and the versions of what computed them |
| ``transcripts/`` | what the model wrote for each test clip: ``before.jsonl``, ``after.jsonl``, ``seen.jsonl`` |
| ``checkpoint/`` | where to resume |
| ``model/`` | adapters and connector |
| ``report.html`` | all of it as a page (`sordino.reporting`) |
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino._check import free_folder
from sordino._faults import fault_point
from sordino.errors import ConfigError

__all__ = ["RunFolder", "folder_name", "replace_file"]


def replace_file(path: Path, content: bytes, *, name: str = "") -> None:
    """Writes a file so that readers, and a crash, see the old content or the new one, never a part.

    Args:
        path: the file.
        content: what it shall hold.
        name: prefix of the fault points before and after the rename.

    Raises:
        OSError: it cannot be written, with the file's name; nothing of it is left then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    if name:
        fault_point(f"{name}.before-rename")
    draft.replace(path)
    if name:
        fault_point(f"{name}.after-rename")


def folder_name(label: str) -> str:
    """A label as the name of a folder: what is no letter, digit, ``-``, ``.`` or ``_`` becomes a single ``-``."""
    kept = "".join(letter if letter.isalnum() or letter in "-._" else " " for letter in label)
    return "-".join(kept.split())


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths and files of one run."""

    path: Path

    @classmethod
    def claim(cls, path: Path, *, resume: bool) -> RunFolder:
        """The folder of a run that goes on, or the place of a new one; nothing is written before `begin`.

        Raises:
            ConfigError: no run there to go on with, or something else in the new one's place.
        """
        if resume:
            return cls.open(path)
        folder = cls(path)
        folder.require_free()
        return folder

    def begin(self, *, config: str) -> None:
        """Makes a new run's folder with its config; a run that goes on has them.

        Raises:
            ConfigError: something has come in the new one's place meanwhile.
        """
        if not self.config.is_file():
            self.require_free()
            replace_file(self.config, config.encode())

    def withdraw(self) -> None:
        """Frees the place of a run that turned out to be impossible; one that may have paid for something stays."""
        if not self.ledger.exists():
            shutil.rmtree(self.path)

    def require_free(self) -> None:
        """Raises ConfigError unless ``path`` is absent or an empty folder; makes nothing."""
        free_folder(self.path, remedy="continue the run in it with --resume, or choose another --out.")

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """The folder of an earlier run.

        Raises:
            ConfigError: it holds no run.
        """
        folder = cls(path)
        if not folder.config.is_file():
            raise ConfigError(
                f"{path} is no run folder (it has no config.toml); name the folder that sordino run printed."
            )
        return folder

    @property
    def config(self) -> Path:
        return self.path / "config.toml"

    @property
    def rounds(self) -> Path:
        return self.path / "rounds.jsonl"

    @property
    def ledger(self) -> Path:
        return self.path / "ledger.jsonl"

    @property
    def privacy(self) -> Path:
        return self.path / "privacy.json"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    def transcripts(self, name: str) -> Path:
        """``before`` (the untouched model), ``after``, or ``seen`` (held-out clips of training speakers)."""
        return self.path / "transcripts" / f"{name}.jsonl"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint" / "state.safetensors"

    @property
    def model(self) -> Path:
        return self.path / "model"

    def append_round(self, line: Mapping[str, Any]) -> None:
        """Adds one line to ``rounds.jsonl``."""
        with self.rounds.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")

    def read_rounds(self) -> Sequence[dict[str, Any]]:
        """All whole lines of ``rounds.jsonl``."""
        return self.read_lines(self.rounds)

    def keep_rounds(self, last: int) -> None:
        """Drops lines of rounds after ``last``, which a resumed run does again."""
        kept = [line for line in self.read_rounds() if line["round"] <= last]
        replace_file(self.rounds, "".join(json.dumps(line) + "\n" for line in kept).encode())

    def read_lines(self, path: Path) -> list[dict[str, Any]]:
        """All whole lines of one of the JSONL files; none if it is absent."""
        if not path.exists():
            return []
        text = path.read_text(encoding="utf-8")
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].split("\n") if line]

    def write_lines(self, path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
        """Writes one of the JSONL files."""
        replace_file(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())

    def write_json(self, path: Path, table: Mapping[str, Any]) -> None:
        """Writes one of the JSON files."""
        replace_file(path, (json.dumps(table, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())
