"""The sign-flip test against all 2^n exchanges, what few speakers can say, and Holm's correction."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import DataError
from sordino.evaluation import Errors, holm, sign_flip
from sordino.evaluation.sign_flip import flipped


def systems(differences: list[int], words: int = 100) -> tuple[dict[str, Errors], dict[str, Errors]]:
    first = {f"s{i}": Errors(substitutions=max(0, d), words=words) for i, d in enumerate(differences)}
    return first, {f"s{i}": Errors(deletions=max(0, -d), words=words) for i, d in enumerate(differences)}


def enumerated(differences: list[int]) -> float:
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
            for signs in itertools.product((-1, 1), repeat=len(differences))]  # fmt: skip
    return float(np.mean(np.array(sums) >= abs(sum(differences))))


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=10))
def test_it_is_the_share_of_all_exchanges(differences: list[int]) -> None:
    assert flipped(differences) == pytest.approx(enumerated(differences), abs=1e-12)


@pytest.mark.parametrize(("speakers", "least"), [(1, 1.0), (2, 0.5), (5, 0.0625), (6, 0.03125), (10, 2**-9)])
def test_the_least_p_is_reached_when_all_agree(speakers: int, least: float) -> None:
    found = sign_flip(*systems(list(range(1, speakers + 1))))
    assert (found.p, found.least_p) == (least, least)
    assert found.can_reject() == (speakers >= 6)
    assert found.can_reject(tests=2) == (speakers >= 7)


def test_six_speakers_of_whom_one_disagrees() -> None:
    """Sums of at least 18: the two in which all agree, and the two in which only the smallest does not."""
    found = sign_flip(*systems([4, 4, 4, 4, 3, -1]))
    assert found.p == 4 / 64


def test_no_difference_is_no_evidence_and_the_order_is_none() -> None:
    first, second = systems([0, 0, 0])
    assert sign_flip(first, second).p == 1.0
    first, second = systems([3, -1, 2, 5])
    assert sign_flip(first, second) == sign_flip(second, dict(reversed(first.items())))


def test_hundreds_of_speakers_are_counted_too() -> None:
    """Against 40,000 random choices of signs, a standard error of at most .0025."""
    random = np.random.default_rng(0)
    differences = random.integers(-9, 10, size=400).tolist()
    draws = np.abs(random.choice([-1, 1], (40_000, 400)) @ np.array(differences))
    assert flipped(differences) == pytest.approx(np.mean(draws >= abs(sum(differences))), abs=0.01)
    assert 0 < flipped([7] * 400) < 1e-100


def test_equal_systems_are_rejected_no_more_often_than_claimed() -> None:
    random = np.random.default_rng(3)
    values = np.array([flipped(random.integers(-5, 6, size=8).tolist()) for _ in range(2000)])
    for level in (0.05, 0.2, 0.5):
        assert np.mean(values <= level) <= level + 3 * np.sqrt(level * (1 - level) / 2000)


def test_only_the_same_speakers_are_paired() -> None:
    first, second = systems([1, 2])
    with pytest.raises(DataError, match="speaker 's1' is in one of the two results only"):
        sign_flip(first, {"s0": second["s0"]})
    with pytest.raises(DataError, match="0 speakers"):
        sign_flip({}, {})


def test_holm_by_hand() -> None:
    """m = 4: .01 x 4, .02 x 3 = .06, .03 x 2 = .06, .005 x 4 comes first."""
    corrected = holm({"a": 0.03, "b": 0.005, "c": 0.02, "d": 0.6})
    assert list(corrected) == ["a", "b", "c", "d"]
    assert corrected == {"b": pytest.approx(0.02), "c": pytest.approx(0.06), "a": pytest.approx(0.06), "d": 0.6}
    assert holm({"x": 0.6, "y": 0.7}) == {"x": 1.0, "y": 1.0}
    assert holm({}) == {}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_the_value_and_bonferroni(values: list[float]) -> None:
    corrected = holm({str(i): p for i, p in enumerate(values)})
    for i, p in enumerate(values):
        assert p <= corrected[str(i)] <= min(1.0, len(values) * p)
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff([corrected[str(i)] for i in order]) >= 0)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(value: float) -> None:
    with pytest.raises(DataError, match="expected 0 to 1"):
        holm({"a": 0.5, "b": value})
