"""The manifests that ``sordino data prepare`` leaves behind; none is ever overwritten.

| file | content |
|---|---|
| ``manifest.jsonl`` | every usable utterance, or instead of it |
| ``train.jsonl``, ``test.jsonl`` | those to train on and those that were held out |
| ``left_out.jsonl`` | every recording left out, with kind and reason |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from sordino.data.holding_out import Division
from sordino.data.manifest import write_manifest
from sordino.data.preparing import Prepared
from sordino.errors import ConfigError
from sordino.records import replace_file

__all__ = ["require_unwritten", "write_prepared"]

_NAMES = ("manifest.jsonl", "train.jsonl", "test.jsonl", "left_out.jsonl")


def require_unwritten(folder: Path) -> None:
    """Raises ConfigError if ``folder`` cannot take the manifests, before an hour is spent on reading recordings."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file; name a folder for the manifest.")
    taken = [name for name in _NAMES if (folder / name).exists()]
    if taken:
        raise ConfigError(f"{folder} has a {taken[0]} already; name another folder, or move that file away first.")


def write_prepared(prepared: Prepared, folder: Path, *, division: Division | None = None) -> Mapping[str, int]:
    """Writes the manifests; the audio stays where it is and is referred to.

    Args:
        prepared: what was found.
        folder: made if absent.
        division: how the utterances are divided, if they are to be.

    Returns:
        Number of lines of each file written, by its name.

    Raises:
        ConfigError: as `require_unwritten`.
    """
    require_unwritten(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    if prepared.left_out:
        lines = ({"audio": str(item.audio), "kind": item.kind, "reason": item.reason} for item in prepared.left_out)
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        replace_file(folder / "left_out.jsonl", content.encode("utf-8", "surrogateescape"))
        files["left_out.jsonl"] = len(prepared.left_out)
    if division is None:
        manifests = {"manifest.jsonl": prepared.utterances}
    else:
        manifests = {"test.jsonl": division.test, "train.jsonl": division.train}
    for name, utterances in manifests.items():
        write_manifest(folder / name, utterances)
        files[name] = len(utterances)
    return files
