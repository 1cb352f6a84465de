"""Attacks on models that lost a modality: they find what is there, and only chance where nothing is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sordino.errors import ConfigError, DataError
from sordino.evaluation.attacks import linear_probe, modality_presence, relearn_time

RNG = np.random.default_rng


def test_a_trace_of_a_modality_is_seen() -> None:
    never = RNG(0).normal(size=(20, 8))
    trace = np.zeros(8)
    trace[3] = 3
    success = modality_presence(never + trace, never)
    assert success.ci95[0] > 0.5
    assert success.right == success.tried == 20


def test_exact_deletion_is_chance_exactly() -> None:
    never = RNG(1).normal(size=(20, 8))
    success = modality_presence(never, never)
    assert (success.right, success.tried) == (10, 20)


def test_unrelated_twins_are_chance_within_the_interval() -> None:
    success = modality_presence(RNG(2).normal(size=(20, 8)), RNG(3).normal(size=(20, 8)))
    assert success.ci95[0] < 0.5 < success.ci95[1]


def test_presence_needs_pairs() -> None:
    for exposed, never in ((np.zeros((2, 4)), np.zeros((2, 4))), (np.zeros((9, 4)), np.zeros((8, 4)))):
        with pytest.raises(DataError, match="at least 3 pairs"):
            modality_presence(exposed, never)


def test_a_probe_reads_what_is_linear_and_nothing_else() -> None:
    labels = ["high", "low", "low"] * 50
    groups = [str(number // 15) for number in range(150)]
    noise = RNG(4).normal(size=(150, 6))
    shown = noise + 3 * (np.array(labels) == "high")[:, None]
    assert linear_probe(shown, labels, groups=groups).ci95[0] > 0.9
    blind = linear_probe(noise, labels, groups=groups)
    assert blind.chance == pytest.approx(2 / 3)
    assert blind.ci95[0] < blind.chance < blind.ci95[1] + 0.1


def test_chance_is_no_worse_where_labels_are_equally_frequent() -> None:
    labels = [str(number % 4) for number in range(80)]
    groups = [str(number // 3) for number in range(80)]  # folds hold unequal shares of the labels
    assert linear_probe(RNG(5).normal(size=(80, 3)), labels, groups=groups).chance == 1 / 4


def test_a_probe_may_not_lean_on_the_group() -> None:
    """The label is constant within a group and the representation names the group: a probe that saw it would be right."""
    groups = [str(number // 10) for number in range(100)]
    labels = ["a" if int(group) % 2 else "b" for group in groups]
    named = np.eye(10)[[int(group) for group in groups]]
    assert linear_probe(named, labels, groups=groups).ci95[0] < 0.5
    with pytest.raises(DataError, match="at least two of both"):
        linear_probe(named, ["a"] * 100, groups=groups)


def learner(start: float, gain: float) -> Callable[[], float]:
    """Scores ``start``, and ``gain`` more after each step."""
    state = [start]

    def score_then_train() -> float:
        state[0] += gain
        return state[0] - gain

    return score_then_train


def test_what_was_hidden_comes_back_sooner() -> None:
    time = relearn_time(
        [(learner(0.6, 0.1), learner(0.2, 0.1)), (learner(0.4, 0.1), learner(0.0, 0.01))], target=0.79, most=20
    )
    assert time.deleted == (2, 4)
    assert time.fresh == (6, None)
    assert time.ratio == pytest.approx((2 + 4) / (6 + 21))
    assert time.to_json()["fresh"] == [6, None]
    assert relearn_time([(learner(1, 0), learner(1, 0))], target=0.5, most=3).ratio is None
    with pytest.raises(ConfigError, match="most = 0"):
        relearn_time([], target=1, most=0)
