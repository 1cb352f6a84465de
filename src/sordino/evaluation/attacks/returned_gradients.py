"""What a server learns from the gradients that a client sends back for its states.

They are gradients of a loss that knows the labels, through a network that reads the clean embeddings, so both can be read
off them. Neither attacker needs that network, its head, or the loss: some sequences of which the answer is known are enough.

Source: Li et al., Label leakage and protection in two-party split learning, 2022, for the direction of gradients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino._check import at_least
from sordino.errors import DataError
from sordino.evaluation.attacks.embedding_inversion import nearest_tokens
from sordino.evaluation.attacks.gradient_inversion import learn_inverse
from sordino.evaluation.attacks.one_run import Success

__all__ = ["labels_from_gradients", "tokens_from_gradients"]

Rows: TypeAlias = npt.NDArray[np.float32]

_KNOWN_TOKENS: Final = 1500
"""Most tokens that the inverse is learned from; its cost grows with the third power."""


def labels_from_gradients(gradients: Rows, lengths: Sequence[int], labels: Sequence[int], *, known: int = 1) -> Success:
    """Guesses each sequence's label from the direction of its gradient, summed over its tokens.

    The gradient at a sequence's representation is a sum over labels of (what is foretold - what is true) times a direction
    of that label's, so that sequences of one label are pushed one way. Chance is the share of the most frequent label.

    Args:
        gradients: at the states of all tokens, one sequence after the other.
        lengths: tokens of each sequence.
        labels: number of each sequence's label.
        known: sequences of each label, the first ones, whose label the attacker knows; all others are guessed.

    Shape:
        gradients: float32 [all tokens, size]

    Raises:
        DataError: lengths differ, or nothing is left to guess.
    """
    at_least("known", known, 1)
    truth = np.asarray(labels)
    kinds = np.unique(truth)
    told = np.concatenate([np.flatnonzero(truth == kind)[:known] for kind in kinds])
    rest = np.setdiff1d(np.arange(len(truth)), told)
    if len(lengths) != len(truth) or sum(lengths) != len(gradients) or not rest.size:
        raise DataError(
            f"{len(gradients)} gradients for {len(lengths)} sequences with {len(truth)} labels, {len(told)} of them known: "
            "expected a row a token, and more sequences than are known; attack more of them."
        )
    sums = np.add.reduceat(gradients.astype(np.float64), np.cumsum([0, *lengths[:-1]]))
    directions = _directions(sums)
    means = np.stack([directions[told[truth[told] == kind]].mean(axis=0) for kind in kinds])
    guessed = kinds[np.argmax(directions[rest] @ means.T, axis=1)]
    chance = max(Counter(truth[rest].tolist()).values()) / len(rest)
    return Success(right=int((guessed == truth[rest]).sum()), tried=len(rest), chance=chance)


def tokens_from_gradients(gradients: Rows, ids: npt.NDArray[np.int64], table: Rows, *, known: int) -> Success:
    """Guesses each token from the direction of the gradient at its states, by an inverse learned from known tokens.

    Chance is naming the token that is most frequent among the known ones.

    Args:
        gradients: at the states of all tokens.
        ids: the tokens.
        table: the embedding table.
        known: the first so many tokens are of sequences that the attacker knows; the others are guessed.

    Shape:
        gradients: float32 [all tokens, size]
        ids: int64 [all tokens]
        table: float32 [vocabulary, d]

    Raises:
        DataError: lengths differ, fewer than two tokens are known, or none is left to guess.
    """
    if len(gradients) != len(ids) or not 2 <= known < len(ids):
        raise DataError(
            f"{len(gradients)} gradients of {len(ids)} tokens, {known} of them known: expected one each, at least two known "
            "ones and more than those; attack more sequences."
        )
    rows = _directions(gradients).astype(np.float32)
    learned = ids[:known][-_KNOWN_TOKENS:]
    inverse = learn_inverse(rows[:known][-_KNOWN_TOKENS:], table[learned].astype(np.float64))
    guessed = nearest_tokens(inverse(rows[known:]).astype(np.float32), table, metric="cosine")
    frequent, _ = Counter(learned.tolist()).most_common(1)[0]
    secret = ids[known:]
    return Success(right=int((guessed == secret).sum()), tried=len(secret), chance=float((secret == frequent).mean()))


def _directions(rows: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Rows of length 1; gradients shrink as training goes on, and with the lengths of the sequences."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    directions: npt.NDArray[np.float64] = rows / np.maximum(lengths, 1e-30)
    return directions
