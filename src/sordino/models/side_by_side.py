"""Copies of a model at work at the same time, each on one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from queue import SimpleQueue
from typing import TypeVar

import torch

__all__ = ["side_by_side"]

Worker = TypeVar("Worker")
Job = TypeVar("Job")
Result = TypeVar("Result")


def side_by_side(
    workers: Sequence[Worker], jobs: Iterable[Job], work: Callable[[Worker, Job], Result]
) -> Iterator[Result]:
    """Results in the order of the jobs, with one job a worker under way or waiting to be taken.

    A single worker works in the calling thread. Jobs are made when a worker is about to be free, so that memory does not
    grow with their number.

    Args:
        workers: what may do one job at a time, at least one.
        jobs: what is to be done.
        work: does one; the first error it raises ends everything.
    """
    if len(workers) == 1:
        for job in jobs:
            yield work(workers[0], job)
        return
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def with_idle(job: Job) -> Result:
        worker = idle.get()
        try:
            return work(worker, job)
        finally:
            idle.put(worker)

    pending = iter(jobs)
    with ThreadPoolExecutor(len(workers), initializer=torch.set_num_threads, initargs=(1,)) as pool:

        def start(count: int) -> list[Future[Result]]:
            return [pool.submit(with_idle, job) for job in islice(pending, count)]

        under_way = deque(start(len(workers)))
        while under_way:
            result = under_way.popleft().result()
            under_way.extend(start(1))
            yield result
