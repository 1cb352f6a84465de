"""What the methods of a split experiment give, cost and show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sordino.evaluation.classification import classification
from sordino.experiments.split.attacking import empirical_privacy
from sordino.experiments.split.attacking_methods import returns_gradients
from sordino.experiments.split.material import Material
from sordino.seeds import Seeds
from sordino.split.methods import Fitted, SplitMethod
from sordino.split.tally import Sent, Tally

__all__ = ["CONTROL", "measured", "totals"]

CONTROL = "zero-states"
"""What the client can do alone: every method is compared with it, if it was run."""


def measured(
    methods: Sequence[SplitMethod],
    fitted: Mapping[str, tuple[Fitted, float]],
    material: Material,
    *,
    attacks: dict[str, Any],
    draws: int,
    seeds: Seeds,
) -> dict[str, Any]:
    """Figures of each method on the test texts.

    Args:
        methods: in order.
        fitted: each after training, and the seconds that took.
        material: has the test texts.
        attacks: results of the attacks.
        draws: how often noise was drawn for the training texts.
        seeds: of the bootstrap.
    """
    labels = material.sequences["test"].labels.numpy()
    tests = {method.name: (material.clean if method.sees == "clean" else material.noised)["test"] for method in methods}
    figures = {}
    for name, exchange in tests.items():
        scores = fitted[name][0].scores(exchange).double().numpy()
        figures[name] = classification(scores / scores.sum(axis=1, keepdims=True), labels, seeds=seeds)
    result = {}
    for method in methods:
        name, (model, seconds) = method.name, fitted[method.name]
        compared = CONTROL in figures and name != CONTROL
        versus = figures[name].against(figures[CONTROL]).to_json() if compared else None
        sent = _bytes(Sent() if method.sees == "nothing" else model.sent + model.sent_for(tests[name]))
        result[name] = figures[name].to_json() | {
            "sees": method.sees,
            "empirical_privacy": empirical_privacy(
                attacks, sees=method.sees, draws=draws, gradients=returns_gradients(model)
            ),
            f"against_{CONTROL}": versus,
            "bytes": sent,
            "seconds": round(seconds, 1),
        }
    return result


def totals(material: Material, tally: Tally) -> dict[str, int]:
    """Bytes of all tensors both ways in the whole life of the run, its earlier processes included.

    Args:
        material: what went once, whoever asked for it.
        tally: counted what went besides.
    """
    asked = (*material.noised.values(), material.clean["public"])
    return _bytes(sum((exchange.total for exchange in asked), tally.total))


def _bytes(sent: Sent) -> dict[str, int]:
    return {"up": sent.up, "down": sent.down}
