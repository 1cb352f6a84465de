"""Renders many synthetic utterances to files, on all CPUs.

The synthesiser keeps its state in the process, so each CPU gets a process of its own: ``python -m
sordino.data.rendering FOLDER`` reads one `Job` a line as JSON and answers each with the clip's length in seconds.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sordino.data.atypical import Impairment, speak_atypically
from sordino.data.audio import write_audio
from sordino.data.synthetic import Voice, synthesise
from sordino.errors import DataError
from sordino.seeds import Seeds

__all__ = ["Job", "render"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """One utterance to render.

    Attributes:
        file: where to, relative to the folder.
        seeds: where its noise comes from.
        window_s: the speech is made to fit into it, but not that of an impaired voice, which takes its time.
        impairment: of the voice, if there is one.
    """

    file: str
    voice: Voice
    text: str
    seeds: Seeds
    window_s: float
    impairment: Impairment | None = None


def render(jobs: Sequence[Job], folder: Path, *, workers: int | None = None) -> list[float]:
    """Renders all jobs and returns their lengths in seconds, in order.

    Raises:
        DataError: a text cannot be said or a file not be written; gives the worker's own words.
    """
    workers = min(len(jobs), workers or os.cpu_count() or 1)
    _log.info("rendering %d synthetic utterances on %d CPUs into %s", len(jobs), workers, folder)
    for parent in {(folder / job.file).parent for job in jobs}:
        parent.mkdir(parents=True, exist_ok=True)
    lengths = [0.0] * len(jobs)
    with ThreadPoolExecutor(max(1, workers)) as pool:
        parts = pool.map(lambda part: _run_worker(part, folder), [jobs[index::workers] for index in range(workers)])
        for index, part in enumerate(parts):
            lengths[index::workers] = part
    return lengths


def _run_worker(jobs: Sequence[Job], folder: Path) -> list[float]:
    lines = "".join(json.dumps(dataclasses.asdict(job)) + "\n" for job in jobs)
    command = [sys.executable, "-m", __name__, str(folder)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, encoding="utf-8")  # noqa: S603
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
        raise DataError(f"rendering synthetic voices into {folder} failed: {last}")
    return [float(line) for line in done.stdout.splitlines()]


def _work(folder: Path) -> None:
    for line in sys.stdin:
        job = json.loads(line)
        seeds = Seeds(job["seeds"]["root"], tuple(job["seeds"]["path"]))
        voice, text = Voice(**job["voice"]), job["text"]
        if job["impairment"] is None:
            audio = synthesise(voice, text, seeds=seeds, window_s=job["window_s"])
        else:
            audio = speak_atypically(voice, Impairment(**job["impairment"]), text, seeds=seeds)
        # Flushed, so that a worker whose parent was killed ends at its next utterance.
        sys.stdout.write(f"{write_audio(folder / job['file'], audio)!r}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _work(Path(sys.argv[1]))
