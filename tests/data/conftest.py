"""Lets the tests of this folder import `recorder`, and gives them a cache."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("SORDINO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
