"""Folders that are made once and kept: rendered voices, joined clips."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sordino.errors import ConfigError

__all__ = ["cache_root", "cached_folder"]


def cache_root() -> Path:
    """``$SORDINO_CACHE``, or ``~/.cache/sordino``."""
    return Path(os.environ.get("SORDINO_CACHE") or "~/.cache/sordino").expanduser()


def cached_folder(kind: str, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
    """The folder that ``build`` fills for ``key``, made now unless it is there already.

    It is filled under another name and renamed when complete, so a killed build leaves nothing that is ever mistaken
    for a whole one, and the next build clears it away. Processes that want the same folder wait for the first of them.

    Args:
        kind: first part of the folder's name, for people who look into the cache.
        key: everything that the content depends on, as JSON values.
        build: fills the empty folder that it is given.

    Raises:
        ConfigError: the cache cannot be written.
    """
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    folder = cache_root() / f"{kind}-{digest}"
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.with_suffix(".lock").open("w")
    except OSError as error:
        raise ConfigError(
            f"the cache {folder.parent} cannot be written ({error.strerror}); set SORDINO_CACHE to a folder that can."
        ) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            partial = folder.with_suffix(f".{os.getpid()}.partial")
            for left_over in folder.parent.glob(f"{folder.name}.*.partial"):
                # Renamed first: a worker that outlives the killed build by one file finds no folder to write it to.
                shutil.rmtree(left_over.rename(folder.with_suffix(f".{secrets.token_hex(8)}.partial")))
            try:
                partial.mkdir()
                build(partial)
                partial.rename(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return folder
