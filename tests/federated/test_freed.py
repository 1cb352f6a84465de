"""What is freed between blocks that stay goes back to the system."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from sordino.federated.freed import give_back


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * 4096


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs glibc")
def test_holes_between_what_stays_are_given_back() -> None:
    blocks = [np.ones(10_000) for _ in range(2_000)]  # too small to be given back one by one
    stay = blocks[::100]
    del blocks
    before = resident_bytes()
    give_back()
    assert before - resident_bytes() > 100e6
    assert all(block.all() for block in stay)
