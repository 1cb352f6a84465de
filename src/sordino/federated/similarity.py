"""Who resembles whom, and the weights that follow: formulas over a few vectors, without any model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch

__all__ = ["Matrix", "blend", "cosines", "drawn_together", "shares", "softmax_rows", "uniform", "weighted_sums"]

Matrix: TypeAlias = npt.NDArray[np.float64]


def cosines(vectors: npt.ArrayLike, *, centred: bool = False) -> Matrix:
    """``S_ij = <v_i, v_j> / (||v_i|| ||v_j||)``; 0, and not NaN, wherever one of the two is zero.

    Vectors that share a large part, as updates of one model and embeddings of one encoder do, have cosines near 1 that say
    little. ``centred`` takes their mean away first.

    Shape:
        vectors: [m, size]
        returns: float64 [m, m]
    """
    rows = np.asarray(vectors, np.float64)
    if centred:
        rows = rows - rows.mean(axis=0, keepdims=True)
    norms = np.linalg.norm(rows, axis=1)
    directions = np.divide(rows, norms[:, None], out=np.zeros_like(rows), where=norms[:, None] > 0)
    return np.asarray(np.clip(directions @ directions.T, -1.0, 1.0))


def softmax_rows(similarities: npt.ArrayLike, *, temperature: float = 1.0, top_k: int = 0) -> Matrix:
    """``W_ij = exp(S_ij / tau) / sum_k exp(S_ik / tau)``, over the ``top_k`` most similar of each row; over all if it is 0.

    At tau = 1 raw cosines give nearly uniform weights: of 16 clients whose cosines with each other are .9, each weighs
    itself .069, where uniform is .0625.

    Shape:
        similarities: [rows, m]
        returns: float64 [rows, m], each row adding up to 1
    """
    scaled = np.asarray(similarities, np.float64) / temperature
    if 0 < top_k < scaled.shape[1]:
        kept = np.argsort(-scaled, axis=1, kind="stable")[:, :top_k]
        masked = np.full_like(scaled, -np.inf)
        np.put_along_axis(masked, kept, np.take_along_axis(scaled, kept, axis=1), axis=1)
        scaled = masked
    weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def uniform(m: int) -> Matrix:
    """``W_ij = 1 / m``: what similarity has to beat."""
    return np.full((m, m), 1 / m)


def shares(amounts: Sequence[float]) -> Matrix:
    """``W_ij = n_j / sum_k n_k``, negative amounts, which noise can make, counting as 0; uniform if nothing is left.

    Shape:
        returns: float64 [m, m], all rows alike
    """
    kept = np.maximum(np.asarray(amounts, np.float64), 0.0)
    if kept.sum() <= 0:
        return uniform(len(kept))
    return np.tile(kept / kept.sum(), (len(kept), 1))


def blend(*terms: tuple[float, Matrix]) -> Matrix:
    """``m ((1 - sum_k b_k) / m + sum_k b_k W^k_ij)``: weights as multiples of an equal share, so that 1 is a plain mean.

    With all b_k = 0 every entry is exactly 1.

    Shape:
        terms: pairs of a weight b_k and a float64 [m, m] whose rows add up to 1
        returns: float64 [m, m], each row adding up to m
    """
    total = sum(weight for weight, _ in terms)
    m = len(terms[0][1])
    return np.asarray(1 - total + m * sum(weight * matrix for weight, matrix in terms))


def weighted_sums(vectors: torch.Tensor, weights: Matrix, *, divisor: float) -> torch.Tensor:
    """``Y_i = sum_j a_ij v_j / n``, added up in float64 in the order of j: where all a are 1, the plain sum to the bit.

    Shape:
        vectors: float32 [m, size]
        weights: float64 [m, m], the a_ij
        returns: float32 [m, size]
    """
    columns = torch.from_numpy(weights.T.copy())
    rows = torch.zeros(vectors.shape, dtype=torch.float64)
    for column, vector in zip(columns, vectors, strict=True):
        rows += column[:, None] * vector.double()
    return (rows / divisor).float()


def drawn_together(vectors: torch.Tensor, weights: Matrix) -> torch.Tensor:
    """``v_i + (1/m) sum_j a_ij (v_j - v_i)``: what is equal stays as it is, to the bit.

    Shape:
        vectors: float32 [m, size]
        weights: float64 [m, m], the a_ij, each row adding up to m
        returns: float32 [m, size]
    """
    wide, shares_of = vectors.double(), torch.from_numpy(weights / len(weights))
    drift = torch.stack([share @ (wide - vector) for share, vector in zip(shares_of, wide, strict=True)])
    return vectors + drift.float()
