"""How cost grows with clients, cohort, parameters, rounds and utterances.

    python benchmarks/growth.py [--json]

For each direction: the exponent e of ``seconds = c * x^e`` between the two largest sizes, with trivial training, in
processor seconds of the best of five runs, the sizes by turns. 1 is proportional, below 1 a part does not grow; above 1.05
would be a fault.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import torch
from interleaving import print_result, seconds
from trivial import Nudge, layout, rounds_of

from sordino.data import BySpeaker, Utterance, read_manifest, write_audio, write_manifest
from sordino.seeds import Seeds

REPEATS: Final = 5


def run(*, population: int, cohort: int, size: int, rounds: int) -> None:
    """Rounds in which ``cohort`` clients are expected of ``population``."""
    learner = Nudge(layout(size, tensors=8))
    with rounds_of(learner, population=population, rate=min(1.0, cohort / population), rounds=rounds) as done:
        for _ in done:
            pass


def manifest(count: int) -> None:
    """Writes, reads and deals out a manifest of ``count`` utterances of ten a speaker."""
    with tempfile.TemporaryDirectory() as folder:
        audio, path = Path(folder) / "clip.flac", Path(folder) / "manifest.jsonl"
        write_audio(audio, np.full(160, 0.1, np.float32))
        clips = [
            Utterance(audio=audio, text="two four", speaker=f"s{index // 10}", duration_s=0.01, offset_s=0.0)
            for index in range(count)
        ]
        write_manifest(path, clips)
        BySpeaker()(read_manifest(path), Seeds(0))


DIRECTIONS: Mapping[str, tuple[Callable[[int], None], tuple[int, ...]]] = {
    "population": (lambda x: run(population=x, cohort=10, size=1_000, rounds=3), (10, 1_000, 10_000, 100_000)),
    "cohort": (lambda x: run(population=1_000, cohort=x, size=1_000, rounds=3), (10, 100, 1_000)),
    "parameters": (lambda x: run(population=2, cohort=2, size=x, rounds=1), (10**4, 10**6, 10**7, 10**8)),
    "rounds": (lambda x: run(population=10, cohort=10, size=1_000, rounds=x), (10, 100, 1_000)),
    "utterances": (manifest, (1_000, 10_000, 100_000)),
}


def main() -> None:
    """Measures and prints."""
    torch.set_num_threads(1)
    result: dict[str, object] = {}
    for name, (work, sizes) in DIRECTIONS.items():
        # As many runs of each size: the best of three of one against a single run of the other would lean to one side.
        runs = seconds({str(size): partial(work, size) for size in sizes}, repeats=REPEATS, warm_up=1)
        best = {size: min(taken) for size, taken in runs.items()}
        smaller, largest = list(best.values())[-2:]
        result[f"{name}_exponent"] = round(math.log(largest / smaller) / math.log(sizes[-1] / sizes[-2]), 3)
        result[f"{name}_seconds"] = {size: round(second, 4) for size, second in best.items()}
    print_result(result)


if __name__ == "__main__":
    main()
