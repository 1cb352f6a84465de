"""Is something forgotten, or only hidden? What was hidden comes back sooner than it was learnt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sordino._check import at_least

__all__ = ["RelearnTime", "relearn_time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelearnTime:
    """Steps until a model was as good as wanted.

    Attributes:
        deleted: of the models that something was taken out of, one number a trial; None where it never got there.
        fresh: of their twins that never had it.
        most: steps that each was allowed.
    """

    deleted: tuple[int | None, ...]
    fresh: tuple[int | None, ...]
    most: int

    @property
    def ratio(self) -> float | None:
        """Mean steps of the deleted models by those of the fresh ones, whoever never got there counting as ``most + 1``.

        1 says that nothing was left; below 1 that something was; None if neither kind ever took a step.
        """
        deleted, fresh = (
            sum(self.most + 1 if steps is None else steps for steps in side) for side in (self.deleted, self.fresh)
        )
        return deleted / fresh if fresh else None

    def to_json(self) -> dict[str, Any]:
        """Steps of each trial, and the ratio."""
        return {"deleted": list(self.deleted), "fresh": list(self.fresh), "most": self.most, "ratio": self.ratio}


def relearn_time(
    trials: Sequence[tuple[Callable[[], float], Callable[[], float]]], *, target: float, most: int
) -> RelearnTime:
    """Trains pairs of models, one deleted and one that never had it, until each reaches a score.

    Args:
        trials: for each pair, two callables that say how good the model is now and then train it by one step.
        target: score that counts as relearnt.
        most: steps that each model is allowed.

    Raises:
        ConfigError: fewer than 1 step.
    """
    at_least("most", most, 1)
    steps = [tuple(_steps(model, target, most) for model in pair) for pair in trials]
    return RelearnTime(deleted=tuple(pair[0] for pair in steps), fresh=tuple(pair[1] for pair in steps), most=most)


def _steps(score_then_train: Callable[[], float], target: float, most: int) -> int | None:
    return next((step for step in range(most + 1) if score_then_train() >= target), None)
