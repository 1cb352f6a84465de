"""What the methods of an experiment with texts give, cost and show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sordino.experiments.split.attacking import empirical_privacy
from sordino.experiments.split.attacking_methods import returns_gradients
from sordino.experiments.split.in_turn import compared
from sordino.experiments.split.judging import LabelJudge
from sordino.experiments.split.material import Material
from sordino.seeds import Seeds
from sordino.split.methods import Fitted, SplitMethod

__all__ = ["measured"]


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

    def privacy(method: SplitMethod, model: Fitted) -> float:
        return empirical_privacy(attacks, sees=method.sees, draws=draws, gradients=returns_gradients(model))

    judge = LabelJudge(material.sequences["test"].labels, seeds)
    return compared(methods, fitted, material.shown("test", methods), judge=judge, privacy=privacy)
