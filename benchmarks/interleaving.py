"""Ratios that a busy machine does not spoil: the candidates run one after another, again and again, in one process."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

__all__ = ["print_result", "ratios", "seconds"]


def seconds(
    candidates: Mapping[str, Callable[[], object]], *, repeats: int = 15, warm_up: int = 2
) -> dict[str, list[float]]:
    """Processor seconds of this process for each candidate in each repeat; every repeat runs all of them once.

    Processor time, not the clock's: what others do on the machine counts only through the caches.
    """
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    order = list(candidates)
    for repeat in range(-warm_up, repeats):
        for name in order if repeat % 2 else reversed(order):
            gc.collect()
            start = time.process_time()
            candidates[name]()
            if repeat >= 0:
                taken[name].append(time.process_time() - start)
    return taken


def ratios(taken: Mapping[str, list[float]], *, floor: str) -> dict[str, float]:
    """Median over the repeats of each candidate's time divided by the floor's of the same repeat."""
    pairs = {name: zip(times, taken[floor], strict=True) for name, times in taken.items() if name != floor}
    return {name: round(median(ours / theirs for ours, theirs in pair), 3) for name, pair in pairs.items()}


def print_result(result: Mapping[str, Any]) -> None:
    """One JSON object with ``--json``, lines otherwise."""
    if "--json" in sys.argv[1:]:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:36} {value}")
