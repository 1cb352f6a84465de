"""The layout of an experiment's model, kept from one plan to the next: making it anew means loading transformers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from sordino import models  # its `model_shapes` loads transformers, so it is named where it is called
from sordino.config import dump
from sordino.data.cache import cached_folder
from sordino.layout import ParameterLayout
from sordino.models.architectures import config_source
from sordino.models.pocket import FOLDER as POCKET

__all__ = ["layout_of"]

_FILE: Final = "layout.json"


def layout_of(options: models.ModelOptions) -> ParameterLayout:
    """Where each trainable tensor of the model will lie.

    It is kept for models whose configs lie on this disk, by the content of those configs, all options and the versions of
    whatever reads them; a hub id that is not kept here may change, and is asked for each time.

    Raises:
        ConfigError: as `sordino.models.model_shapes`, or the cache cannot be written.
    """
    key = _key(options)
    if key is None:
        return models.model_shapes(options)
    folder = cached_folder("layout", key, lambda empty: _write(models.model_shapes(options), empty / _FILE))
    slots = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    return ParameterLayout.from_shapes((name, component, tuple(shape)) for name, component, shape in slots)


def _write(layout: ParameterLayout, path: Path) -> None:
    path.write_text(json.dumps([[slot.name, slot.component, slot.shape] for slot in layout.slots]), encoding="utf-8")


def _key(options: models.ModelOptions) -> Mapping[str, Any] | None:
    sources = [source for source in (options.base, options.encoder, options.decoder) if source is not None]
    folders = [POCKET if source == "pocket" else Path(config_source(source)).expanduser() for source in sources]
    if not all(folder.is_dir() for folder in folders):
        return None
    return {
        "options": dump(replace(options, start=None)),
        "configs": [_digest(folder) for folder in folders],
        "versions": {package: version(package) for package in ("sordino", "torch", "transformers", "peft")},
    }


def _digest(folder: Path) -> str:
    """Of every small JSON file below the folder: the configs, whatever they are called."""
    content = hashlib.sha256()
    for path in sorted((*folder.glob("*.json"), *folder.glob("*/*.json"))):
        content.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return content.hexdigest()
