"""Who took part, told by whose loss fell."""

from __future__ import annotations

import numpy as np

from sordino.evaluation.attacks import loss_drop


def test_those_whose_loss_fell_most_are_said_to_have_taken_part() -> None:
    before = np.array([5.0, 1.0, 3.0, 2.0])
    after = np.array([4.5, 0.2, 3.1, 0.5])  # falls: 0.5, 0.8, -0.1, 1.5
    success = loss_drop(before, after, np.array([False, True, False, True]))
    assert (success.right, success.tried, success.chance) == (4, 4, 0.5)
    assert loss_drop(before, after, np.array([True, False, True, False])).right == 0
    assert loss_drop(before, after, np.array([True, True, False, False])).right == 2


def test_a_model_that_learnt_nothing_is_no_help() -> None:
    generator = np.random.default_rng(0)
    included, losses = generator.random(1000) < 0.5, generator.random(1000)
    success = loss_drop(losses, losses, included)
    assert success.ci95[0] < 0.5 < success.ci95[1]
