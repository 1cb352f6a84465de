"""What an attacker at the server makes of what some methods send besides the noised embeddings, or in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from sordino.evaluation.attacks import labels_from_gradients, nearest_tokens, token_success, tokens_from_gradients
from sordino.experiments.split.material import Material
from sordino.experiments.tasks.split import SplitAttacks
from sordino.split.embedding import ClientEmbedding
from sordino.split.embedding_gan import FittedGan
from sordino.split.exchange import Exchange
from sordino.split.fitting import FittedCorrector
from sordino.split.methods import Fitted
from sordino.split.sequences import Sequences

__all__ = ["GENERATED", "GRADIENT_TOKENS", "attack_methods", "returns_gradients"]

GENERATED = "generated"
"""The nearest row to what a generator makes of a noised embedding: any attacker with public texts can train one."""

GRADIENT_TOKENS = "gradient-tokens"


def returns_gradients(model: Fitted) -> bool:
    """Whether the server got gradients while the method was trained."""
    return isinstance(model, FittedCorrector) and model.received is not None


def attack_methods(
    options: SplitAttacks, fitted: Mapping[str, Fitted], material: Material, *, embedding: ClientEmbedding
) -> dict[str, Any]:
    """Attacks on generated embeddings, and on the gradients of the first method that returned any.

    Args:
        options: how much is attacked.
        fitted: methods after training.
        material: has the texts.
        embedding: the client's table.

    Returns:
        A table of its success for each attack; none where no method sends such things.
    """
    found: dict[str, Any] = {}
    for model in fitted.values():
        if isinstance(model, FittedGan):
            shown = model.shown(material.noised["test"])
            found[GENERATED] = _generated(shown, material.sequences["test"], options, embedding)
    for name, model in fitted.items():
        if isinstance(model, FittedCorrector) and model.received is not None:
            tables = _gradients(model.received, material.sequences["train"], options, embedding)
            return found | {attack: {"of": f"{name}: {table.pop('of')}", **table} for attack, table in tables.items()}
    return found


def _generated(
    shown: Exchange, sequences: Sequences, options: SplitAttacks, embedding: ClientEmbedding
) -> dict[str, Any]:
    ids = sequences.ids[: options.tokens or None].numpy()
    rows = shown.noised[shown.mask][: len(ids)].numpy()
    places = round(len(ids) * shown.mask.numel() / len(sequences.ids))
    guessed = nearest_tokens(rows, embedding.table.numpy(), metric="cosine")
    return token_success(guessed, ids, places=places, vocabulary=len(embedding.table)).to_json()


def _gradients(
    received: torch.Tensor, sequences: Sequences, options: SplitAttacks, embedding: ClientEmbedding
) -> dict[str, dict[str, Any]]:
    rows = received.transpose(1, 2)[sequences.mask].flatten(1).numpy()  # [all tokens, L' width]
    lengths, labels = sequences.lengths.tolist(), sequences.labels.tolist()
    known = sum(lengths[: len(lengths) // 2])
    last = known + options.tokens if options.tokens else len(rows)
    tokens = tokens_from_gradients(
        rows[:last], sequences.ids[:last].numpy(), embedding.table.numpy(), known=known
    ).to_json()
    tables = {
        GRADIENT_TOKENS: {
            "of": "training texts, half of them known",
            **tokens,
            "empirical_privacy": 1 - tokens["success"],
        }
    }
    if len(set(labels)) > 1:
        found = labels_from_gradients(rows, lengths, labels).to_json()
        tables["gradient-labels"] = {"of": "training texts, one of each label known", **found}
    return tables
