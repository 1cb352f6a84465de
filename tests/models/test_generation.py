from __future__ import annotations

import pytest

from sordino.models.generation import repetitions


@pytest.mark.parametrize(
    ("tokens", "count"),
    [
        ([], 0),
        ([1, 2, 3], 1),
        ([9, 1, 1, 1], 3),
        ([5, 1, 2, 1, 2, 1, 2], 3),
        ([1, 2, 1, 2, 3], 1),
        ([7, *[4, 5, 6] * 222], 222),
    ],
)
def test_repetitions_of_the_closing_phrase(tokens: list[int], count: int) -> None:
    assert repetitions(tokens) == count
