"""Which tokens were sent? An attacker with the embedding table, the noised embeddings and the law of the noise.

Success is counted on tokens that are no padding. The published definition counts the padding, too: its places hold the
padding token's own embedding, of which an attacker who is asked for a text token is never right, so the more padding, the
more "privacy". `InversionSuccess` has both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino._check import at_least, one_of
from sordino.errors import DataError
from sordino.evaluation.attacks.one_run import Success

__all__ = ["InversionSuccess", "averaged", "learned_inversion", "nearest_tokens", "token_success"]

Rows: TypeAlias = npt.NDArray[np.float32]
Ids: TypeAlias = npt.NDArray[np.int64]

_CHUNK: Final = 512
_WIDTH: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class InversionSuccess:
    """How many tokens an attacker named.

    Attributes:
        tokens: right among those that are no padding.
        places: all places of the padded batches.
    """

    tokens: Success
    places: int

    @property
    def empirical_privacy(self) -> float:
        """1 - success, on tokens."""
        return 1 - self.tokens.right / self.tokens.tried

    @property
    def as_published(self) -> float:
        """1 - success, on all places, padding included."""
        return 1 - self.tokens.right / self.places

    def to_json(self) -> dict[str, Any]:
        """Success with its interval, and both definitions of empirical privacy."""
        return {
            **self.tokens.to_json(),
            "empirical_privacy": self.empirical_privacy,
            "empirical_privacy_as_published": self.as_published,
        }


def token_success(guessed: Ids, truth: Ids, *, places: int, vocabulary: int) -> InversionSuccess:
    """Counts right guesses.

    Args:
        guessed: the attacker's, of every token.
        truth: what was sent.
        places: places of the padded batches in which they were sent, for the published definition.
        vocabulary: number of tokens that there are.

    Shape:
        guessed, truth: int64 [tokens]

    Raises:
        DataError: no token, or lengths differ.
    """
    if guessed.shape != truth.shape or not truth.size or places < truth.size:
        raise DataError(
            f"{guessed.size} guesses on {truth.size} tokens in {places} places: expected one each; guess all."
        )
    right = int((guessed == truth).sum())
    return InversionSuccess(tokens=Success(right=right, tried=truth.size, chance=1 / vocabulary), places=places)


def nearest_tokens(noised: Rows, table: Rows, *, metric: Literal["l2", "cosine"]) -> Ids:
    """The token whose embedding is nearest.

    The Euclidean one is the likeliest token under d_chi and Gaussian noise; the cosine is better where embeddings were
    scaled down after the noise, as here.

    Shape:
        noised: float32 [tokens, d]
        table: float32 [vocabulary, d]
        result: int64 [tokens]
    """
    one_of("metric", metric, ["l2", "cosine"])
    if metric == "cosine":
        table = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    offset = 0.5 * (table**2).sum(axis=1) if metric == "l2" else np.zeros(len(table), np.float32)
    found = [
        np.argmax(noised[start : start + _CHUNK] @ table.T - offset, axis=1) for start in range(0, len(noised), _CHUNK)
    ]
    return np.concatenate(found).astype(np.int64)


def averaged(draw: Callable[[int], Rows], *, times: int) -> Rows:
    """The mean of several draws of the same embeddings: what a server sees of a client that draws anew at every query.

    Args:
        draw: the noised embeddings of a draw's number.
        times: how many.
    """
    at_least("times", times, 1)
    total = draw(0).astype(np.float64)
    for number in range(1, times):
        total += draw(number)
    return (total / times).astype(np.float32)


def learned_inversion(
    noised: Rows, table: Rows, *, examples: Rows, answers: Ids, epochs: int = 10, seed: int = 0
) -> Ids:
    """The guesses of a network that the attacker trained on texts of their own, noised by the same law.

    It maps a noised embedding to a direction in the table's space and adds how common a token is; only tokens that occurred
    in the attacker's texts can be named.

    Args:
        noised: what was received.
        table: the embedding table.
        examples: noised embeddings of the attacker's own tokens.
        answers: those tokens.
        epochs: passes over the examples.
        seed: of weights and order.

    Shape:
        noised: float32 [tokens, d]
        table: float32 [vocabulary, d]
        examples: float32 [own tokens, d]
        answers: int64 [own tokens]
        result: int64 [tokens]
    """
    import torch
    from torch import nn

    known, places = np.unique(answers, return_inverse=True)
    width = table.shape[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, _WIDTH), nn.GELU(), nn.Linear(_WIDTH, width))
        bias = nn.Parameter(torch.from_numpy(np.log(np.bincount(places) / len(places))).float())
        candidates = nn.functional.normalize(torch.from_numpy(table[known]), dim=1)
        given, wanted = torch.from_numpy(examples), torch.from_numpy(places)

        def logits(rows: torch.Tensor) -> torch.Tensor:
            # The embedding itself, turned and corrected: an untrained network is the cosine attack.
            aimed: torch.Tensor = nn.functional.normalize(rows, dim=1) * width**0.5 + net(rows)
            return aimed @ candidates.T + bias

        optimiser = torch.optim.AdamW([*net.parameters(), bias], lr=1e-3)
        for _ in range(epochs):
            for rows in torch.randperm(len(given)).split(_CHUNK):
                loss = nn.functional.cross_entropy(logits(given[rows]), wanted[rows])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        with torch.no_grad():
            best = [logits(part).argmax(dim=1) for part in torch.from_numpy(noised).split(_CHUNK)]
    guessed: Ids = known[torch.cat(best).numpy()].astype(np.int64)
    return guessed
