"""A file that cannot be written in full leaves the old one, and nothing beside it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sordino.models import ModelOptions, load_model
from sordino.records import replace_file


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow beyond ``size`` bytes, as on a disk that is nearly full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_full_disk_keeps_the_old_file_and_names_it(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    replace_file(path, b"old")
    with room_for(1000), pytest.raises(OSError, match=r"result\.json"):
        replace_file(path, bytes(10_000))
    assert contents(tmp_path) == {"result.json": b"old"}


def test_a_model_is_never_saved_in_part(tmp_path: Path) -> None:
    model = load_model(ModelOptions())
    model.save(tmp_path)
    before = contents(tmp_path)
    model.flat.values.add_(1.0)
    with room_for(10_000), pytest.raises(OSError, match="safetensors"):
        model.save(tmp_path)
    assert contents(tmp_path) == before
