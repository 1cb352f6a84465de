"""The manifests that ``sordino data prepare`` leaves behind; none is ever overwritten.

| file | content |
|---|---|
| ``manifest.jsonl`` | every usable utterance, or instead of it |
| ``train.jsonl``, ``test.jsonl`` | those to train on and those that were held out, or instead of them |
| ``train.jsonl``, ``dev.jsonl``, ... | the corpus's own splits, where it has more than one |
| ``left_out.jsonl`` | every recording left out, with kind and reason |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sordino.data.holding_out import Division
from sordino.data.manifest import write_manifest
from sordino.data.preparing import Prepared
from sordino.data.source import SPLIT
from sordino.data.utterance import Utterance
from sordino.errors import ConfigError
from sordino.records import replace_file

__all__ = ["require_unwritten", "splits_of", "write_prepared"]

_LEFT_OUT = "left_out"
_NAMES = ("manifest", "train", "dev", "validation", "test", _LEFT_OUT)


def splits_of(prepared: Prepared, division: Division | None = None) -> Mapping[str, Sequence[Utterance]]:
    """The utterances of each manifest by its name: as divided, or else by the corpus's own splits, or all in one."""
    if division is not None:
        return {"train": division.train, "test": division.test}
    splits: dict[str, list[Utterance]] = {}
    for utterance in prepared.utterances:
        splits.setdefault(_file_name(utterance.attributes.get(SPLIT, "")), []).append(utterance)
    return splits if len(splits) > 1 else {"manifest": prepared.utterances}


def _file_name(split: str) -> str:
    """What the manifest of a split is called, which anybody's table may name anything."""
    name = re.sub(r"[^\w-]+", "_", split)
    return "manifest" if name in ("", _LEFT_OUT) else name


def require_unwritten(folder: Path, names: Iterable[str] = _NAMES) -> None:
    """Raises ConfigError if ``folder`` cannot take the manifests, before an hour is spent on reading recordings."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file; name a folder for the manifest.")
    taken = [name for name in names if (folder / f"{name}.jsonl").exists()]
    if taken:
        raise ConfigError(
            f"{folder} has a {taken[0]}.jsonl already; name another folder, or move that file away first."
        )


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
    splits = splits_of(prepared, division)
    require_unwritten(folder, (*splits, *_NAMES))
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    if prepared.left_out:
        lines = ({"audio": str(item.audio), "kind": item.kind, "reason": item.reason} for item in prepared.left_out)
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        replace_file(folder / f"{_LEFT_OUT}.jsonl", content.encode("utf-8", "backslashreplace"))  # JSON's escapes
        files[f"{_LEFT_OUT}.jsonl"] = len(prepared.left_out)
    for name, utterances in splits.items():
        write_manifest(folder / f"{name}.jsonl", utterances)
        files[f"{name}.jsonl"] = len(utterances)
    return files
