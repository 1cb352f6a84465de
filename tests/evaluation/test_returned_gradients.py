"""What a server reads off returned gradients, where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import DataError
from sordino.evaluation.attacks import labels_from_gradients, tokens_from_gradients

RANDOM = np.random.default_rng(0)
LENGTHS = RANDOM.integers(3, 9, size=90).tolist()
LABELS = RANDOM.integers(3, size=90).tolist()
TABLE = RANDOM.normal(size=(50, 16)).astype(np.float32)
IDS = RANDOM.integers(50, size=1200)


def pushed(std: float) -> np.ndarray:
    """Gradients that push each label's sequences its own way, weakly at some and strongly at others."""
    ways = RANDOM.normal(size=(3, 12))
    each = np.repeat(LABELS, LENGTHS)
    strength = np.repeat(RANDOM.lognormal(0, 2, size=90), LENGTHS)[:, None]
    return (strength * (ways[each] + std * RANDOM.normal(size=(len(each), 12)))).astype(np.float32)


def test_one_known_sequence_of_each_label_gives_the_others_away() -> None:
    found = labels_from_gradients(pushed(0.2), LENGTHS, LABELS)
    assert found.tried == 87
    assert found.right == 87
    assert 1 / 3 <= found.chance < 0.5


def test_noise_leaves_chance() -> None:
    found = labels_from_gradients(pushed(1e4), LENGTHS, LABELS, known=4)
    assert found.tried == 78
    assert found.ci95[0] < 0.5
    assert found.right / found.tried < 0.55


def test_tokens_are_read_off_what_depends_on_them() -> None:
    mixed = TABLE[IDS] @ RANDOM.normal(size=(16, 24)).astype(np.float32)
    exposed = tokens_from_gradients(mixed, IDS, TABLE, known=600)
    assert exposed.tried == 600
    assert exposed.right > 0.9 * exposed.tried
    hidden = tokens_from_gradients(RANDOM.normal(size=(1200, 24)).astype(np.float32), IDS, TABLE, known=600)
    assert hidden.right < 0.1 * hidden.tried
    frequent = np.bincount(IDS[:600]).argmax()
    assert exposed.chance == (IDS[600:] == frequent).mean()


def test_what_cannot_be_attacked() -> None:
    rows = np.zeros((5, 2), np.float32)
    for lengths, labels in (([5], [0, 1]), ([4], [0]), ([2, 3], [0, 1])):
        with pytest.raises(DataError, match="expected a row a token"):
            labels_from_gradients(rows, lengths, labels)
    for known in (1, 5):
        with pytest.raises(DataError, match="at least two known"):
            tokens_from_gradients(rows, np.zeros(5, np.int64), TABLE, known=known)
