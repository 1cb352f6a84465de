"""Weights from similarities: formulas by hand, and what must hold for any vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sordino.federated.similarity import blend, cosines, drawn_together, shares, softmax_rows, uniform, weighted_sums

REFERENCE = {"0.9": 0.069, "0.5": 0.099, "0.0": 0.153}
"""Self weight of one of 16 clients whose cosines with each other are the key."""

VECTORS = arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e6, 1e6, width=32))


@pytest.mark.parametrize(("cosine", "weight"), REFERENCE.items())
def test_raw_cosines_are_nearly_uniform_weights(cosine: str, weight: float) -> None:
    """Vectors that really have these cosines, not a matrix of them."""
    c = float(cosine)
    vectors = np.sqrt(1 - c) * np.eye(16) + (np.sqrt(1 + 15 * c) - np.sqrt(1 - c)) / 16
    alike = cosines(vectors)
    assert alike[0, 1] == pytest.approx(c)
    assert softmax_rows(alike)[0, 0] == pytest.approx(weight, abs=5e-4)


def test_the_numbers_are_those_of_the_reference() -> None:
    path = Path(__file__).resolve().parents[3] / "shared" / "reference.json"
    if not path.is_file():
        pytest.skip("no reference numbers beside this checkout")
    assert json.loads(path.read_text())["computed"]["similarity_softmax_self_weight_16_clients"] == REFERENCE


def test_centring_and_temperature_tell_clients_apart_that_look_the_same() -> None:
    common = np.full(8, 10.0)
    vectors = np.stack([common + np.eye(8)[i // 2] for i in range(4)])
    assert softmax_rows(cosines(vectors))[0].max() < 0.26
    sharp = softmax_rows(cosines(vectors, centred=True), temperature=0.1)[0]
    assert sharp[:2] == pytest.approx([0.5, 0.5], abs=1e-6)


def test_top_k_leaves_the_others_out() -> None:
    weights = softmax_rows([[0.9, 0.1, 0.5, 0.5]], top_k=2)
    assert weights[0, [1, 3]].tolist() == [0, 0]
    assert weights.sum() == pytest.approx(1)


def test_zero_vectors_resemble_nobody() -> None:
    alike = cosines([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    assert alike.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert softmax_rows(alike)[0].tolist() == [1 / 3] * 3


@given(VECTORS, st.booleans(), st.floats(1e-3, 1e3), st.integers(0, 8), st.floats(0, 1))
def test_any_vectors_give_weights_that_add_up(
    vectors: np.ndarray, centred: bool, temperature: float, top_k: int, beta: float
) -> None:
    m = len(vectors)
    alike = cosines(vectors, centred=centred)
    assert np.isfinite(alike).all()
    assert (np.abs(alike) <= 1).all()
    weights = softmax_rows(alike, temperature=temperature, top_k=top_k)
    assert (weights >= 0).all()
    assert weights.sum(axis=1) == pytest.approx(np.ones(m))
    assert blend((beta, weights)).sum(axis=1) == pytest.approx(np.full(m, m))


@given(VECTORS)
def test_no_blend_is_the_plain_sum_to_the_bit(vectors: np.ndarray) -> None:
    m = len(vectors)
    ones = blend((0.0, softmax_rows(cosines(vectors))))
    assert (ones == 1).all()
    plain = np.zeros(vectors.shape[1])
    for vector in vectors:
        plain += vector
    mixed = weighted_sums(torch.from_numpy(vectors), ones, divisor=3.0)
    assert torch.equal(mixed, torch.from_numpy(plain / 3.0).float().expand(m, -1))


@given(VECTORS)
def test_equal_vectors_stay_as_they_are(vectors: np.ndarray) -> None:
    same = torch.from_numpy(vectors[:1].copy()).expand(4, -1)
    weights = blend((0.7, softmax_rows([[0.1, 0.2, 0.3, 0.4]] * 4)))
    assert torch.equal(drawn_together(same, weights), same)


def test_drawn_together_is_the_weighted_mean() -> None:
    vectors = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    weights = softmax_rows(np.arange(9.0).reshape(3, 3) / 4)
    expected = torch.from_numpy(weights).float() @ vectors
    assert torch.allclose(drawn_together(vectors, 3 * weights), expected, atol=1e-6)


def test_shares_of_noisy_counts() -> None:
    assert shares([1.0, 3.0])[0].tolist() == [0.25, 0.75]
    assert shares([-1.0, 2.0])[1].tolist() == [0.0, 1.0]
    assert (shares([-1.0, 0.0]) == uniform(2)).all()
