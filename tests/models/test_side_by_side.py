from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sordino.models.side_by_side import side_by_side


def numbers(made: list[int], count: int = 20) -> Iterator[int]:
    for number in range(count):
        made.append(number)
        yield number


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_order_and_jobs_are_made_when_they_are_needed(workers: int) -> None:
    made: list[int] = []

    def square(worker: int, number: int) -> int:
        time.sleep(0.002 * ((number * 7) % 3))
        return number**2

    for done, result in enumerate(side_by_side(range(workers), numbers(made), square)):
        assert result == done**2
        assert len(made) <= done + 1 + workers
    assert made == list(range(20))


def test_a_worker_does_one_job_at_a_time() -> None:
    workers = [threading.Lock(), threading.Lock()]

    def work(worker: Any, number: int) -> int:
        assert worker.acquire(blocking=False)
        time.sleep(0.001)
        worker.release()
        return number

    assert list(side_by_side(workers, range(30), work)) == list(range(30))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_ends_everything(workers: int) -> None:
    def work(worker: int, number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    with pytest.raises(ValueError, match="three"):
        list(side_by_side(range(workers), range(10), work))
