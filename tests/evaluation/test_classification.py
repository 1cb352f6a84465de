"""Area under the curve and accuracy with paired intervals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sordino.errors import ConfigError, DataError
from sordino.evaluation.classification import classification
from sordino.seeds import Seeds

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(3, size=150)
GOOD = RANDOM.dirichlet(np.ones(3), size=150) + 0.4 * np.eye(3)[LABELS]
GOOD /= GOOD.sum(axis=1, keepdims=True)
POOR = RANDOM.dirichlet(np.ones(3), size=150)


def test_figures_are_those_of_scikit_learn() -> None:
    found = classification(GOOD, LABELS, seeds=Seeds(0), resamples=50).to_json()
    assert found["auc"] == pytest.approx(roc_auc_score(LABELS, GOOD, multi_class="ovr"))
    assert found["accuracy"] == (GOOD.argmax(axis=1) == LABELS).mean()
    two = classification(GOOD[:, :2], LABELS % 2, seeds=Seeds(0), resamples=5).to_json()
    assert two["auc"] == pytest.approx(roc_auc_score(LABELS % 2, GOOD[:, 1]))


def test_intervals_hold_the_figure_and_repeat() -> None:
    found = classification(GOOD, LABELS, seeds=Seeds(0), resamples=100).to_json()
    for name in ("auc", "accuracy"):
        low, high = found[f"{name}_ci95"]
        assert low < found[name] < high
        assert high - low < 0.2
    assert found == classification(GOOD, LABELS, seeds=Seeds(0), resamples=100).to_json()


def test_differences_are_paired() -> None:
    good, poor = (classification(scores, LABELS, seeds=Seeds(0), resamples=100) for scores in (GOOD, POOR))
    nothing = good.against(good).to_json()
    assert nothing["auc_ci95"] == [0.0, 0.0]
    found = good.against(poor).to_json()
    assert found["auc"] == pytest.approx(good.found[0] - poor.found[0])
    assert found["auc_ci95"][0] > 0


def test_what_cannot_be_counted() -> None:
    with pytest.raises(DataError, match="every label"):
        classification(GOOD, np.zeros(150, int), seeds=Seeds(0))
    with pytest.raises(DataError, match="a row a sequence"):
        classification(GOOD[:10], LABELS, seeds=Seeds(0))
    with pytest.raises(ConfigError, match="resamples"):
        classification(GOOD, LABELS, seeds=Seeds(0), resamples=0)
    rare = np.array([0] * 30 + [1])
    scores = np.tile([0.6, 0.4], (31, 1))
    assert len(classification(scores, rare, seeds=Seeds(0), resamples=50).drawn) < 50
