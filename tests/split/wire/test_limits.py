"""Limits are what they say, and refill with time."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
import torch

from sordino.errors import ConfigError, DataError
from sordino.split.wire.batches import Batch
from sordino.split.wire.limits import Allowance, Limits


def test_an_allowance_refills_with_time_and_no_further() -> None:
    now = [100.0]
    allowance = Allowance(60, clock=lambda: now[0])
    assert allowance.take(60) == 0
    assert allowance.take(1) == pytest.approx(1)
    now[0] += 2.5
    assert allowance.take(2) == 0
    assert allowance.take(1) == pytest.approx(0.5)
    now[0] += 1e6
    assert allowance.take(61) == pytest.approx(1)
    assert allowance.take(60) == 0


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"max_batch": 1}, "max_batch"),
        ({"max_tokens": 4}, "max_tokens"),
        ({"max_places": 9}, "max_places"),
        ({"max_message_mib": 8000 / (1 << 20)}, "max_message_mib"),
    ],
)
def test_each_limit_is_found_and_named(changed: dict[str, float], named: str) -> None:
    batch = Batch(card="", rows=torch.zeros(7, 256), lengths=(5, 2), layers=(1,), reduction=4)
    assert Limits().excess(batch) == ""
    assert replace(Limits(), **changed).excess(batch).startswith(named)
    short = replace(batch, rows=batch.rows[:2], lengths=(1, 1))
    assert (
        replace(Limits(), max_batch=2, max_tokens=1, max_places=2, max_message_mib=8000 / (1 << 20)).excess(short) == ""
    )


def test_what_comes_back_counts_as_well() -> None:
    batch = Batch(card="", rows=torch.zeros(7, 256), lengths=(5, 2), layers=(1, 2, 3, 4), reduction=None)
    assert batch.bytes == (4 * (7 * 256 + 2), 4 * 7 * 4 * 256)
    assert "28.0" not in replace(Limits(), max_message_mib=20_000 / (1 << 20)).excess(replace(batch, layers=(1,)))
    assert replace(Limits(), max_message_mib=20_000 / (1 << 20)).excess(batch).startswith("max_message_mib")


def test_limits_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="places_per_minute"):
        Limits(places_per_minute=100)
    with pytest.raises(ConfigError, match="max_batch = 0"):
        Limits(max_batch=0)
    with pytest.raises(ConfigError, match="read_s = 0"):
        Limits(read_s=0)


def test_a_server_s_limits_travel() -> None:
    limits = Limits(max_batch=3, max_message_mib=1)
    assert Limits.from_json(asdict(limits)) == limits
    for table in (
        {},
        asdict(limits) | {"more": 1},
        asdict(limits) | {"max_batch": 2.5},
        asdict(limits) | {"max_batch": True},
    ):
        with pytest.raises(DataError, match="same version"):
            Limits.from_json(table)
