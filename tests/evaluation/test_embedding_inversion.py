"""Attacks on noised embeddings: what each finds where the answer is known, and how success is counted."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import ConfigError, DataError
from sordino.evaluation.attacks import (
    attribute_inference,
    averaged,
    learned_inversion,
    nearest_tokens,
    token_success,
)

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(300, 24)).astype(np.float32)
TRUTH = RANDOM.integers(300, size=800)


def noised(std: float, seed: int = 1, ids: np.ndarray = TRUTH) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(len(ids), 24))
    return (TABLE[ids] + std * noise).astype(np.float32)


def success(guessed: np.ndarray) -> float:
    return float((guessed == TRUTH).mean())


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_without_noise_every_token_is_named(metric: str) -> None:
    assert success(nearest_tokens(TABLE[TRUTH], TABLE, metric=metric)) == 1.0
    assert success(nearest_tokens(noised(50.0), TABLE, metric=metric)) < 0.05


def test_the_nearest_is_the_nearest() -> None:
    rows = noised(1.0)
    distances = ((rows[:, None] - TABLE[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(nearest_tokens(rows, TABLE, metric="l2"), distances.argmin(axis=1))
    with pytest.raises(ConfigError, match="metric"):
        nearest_tokens(rows, TABLE, metric="l3")  # type: ignore[arg-type]


def test_scaling_down_deceives_distances_and_not_directions() -> None:
    shrunk = 0.3 * noised(0.8)
    assert success(nearest_tokens(shrunk, TABLE, metric="cosine")) > success(nearest_tokens(shrunk, TABLE, metric="l2"))


def test_the_mean_of_many_draws_is_the_clean_embedding() -> None:
    one, many = (
        success(nearest_tokens(averaged(lambda draw: noised(3.0, draw), times=times), TABLE, metric="l2"))
        for times in (1, 64)
    )
    assert one < 0.2
    assert many > 0.95
    with pytest.raises(ConfigError, match="times"):
        averaged(lambda draw: noised(3.0, draw), times=0)


def test_a_learned_inverter_knows_which_tokens_are_common() -> None:
    """Ten tokens make up nearly all text; the nearest row does not know that, an attacker with texts of their own does."""
    common = np.random.default_rng(2).integers(10, size=800)
    examples = np.random.default_rng(3).integers(10, size=2_000)
    rows = noised(3.0, ids=common)
    learned = learned_inversion(rows, TABLE, examples=noised(3.0, 4, ids=examples), answers=examples, epochs=4, seed=0)
    blind = nearest_tokens(rows, TABLE, metric="l2")
    assert (learned == common).mean() > (blind == common).mean() + 0.2
    again = learned_inversion(rows, TABLE, examples=noised(3.0, 4, ids=examples), answers=examples, epochs=4, seed=0)
    np.testing.assert_array_equal(learned, again)


def test_padding_is_no_privacy() -> None:
    guessed = np.where(np.arange(800) < 600, TRUTH, -1)
    found = token_success(guessed, TRUTH, places=1600, vocabulary=300)
    assert found.empirical_privacy == pytest.approx(0.25)
    assert found.as_published == pytest.approx(1 - 600 / 1600)
    assert found.tokens.chance == 1 / 300
    assert found.to_json()["empirical_privacy_as_published"] == found.as_published
    with pytest.raises(DataError, match="expected one each"):
        token_success(guessed[:5], TRUTH, places=1600, vocabulary=300)


def test_an_attribute_survives_noise_that_hides_every_token() -> None:
    """Texts of one kind use other words than those of the other; the mean over 60 tokens takes the noise out."""
    kinds = RANDOM.integers(2, size=120)
    ids = np.concatenate([RANDOM.integers(150, size=60) + 150 * kind for kind in kinds])
    rows = noised(3.0, ids=ids)
    assert (nearest_tokens(rows, TABLE, metric="l2") == ids).mean() < 0.15
    found = attribute_inference(rows, [60] * 120, [str(kind) for kind in kinds], groups=[str(n) for n in range(120)])
    assert found.right / found.tried > 0.7
    assert found.chance < 0.6
