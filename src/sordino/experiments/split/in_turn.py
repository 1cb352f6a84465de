"""One method after the other, and what each gives, costs and shows: the same for texts and for speech."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, Self, TypeVar

import torch

from sordino.experiments.observer import Observer, Progress
from sordino.split.exchange import Exchange
from sordino.split.methods import Fitted, Scene, SplitMethod
from sordino.split.tally import Sent

__all__ = ["CONTROL", "Dumped", "Figures", "compared", "fit_in_turn", "in_bytes"]

CONTROL: Final = "zero-states"
"""What the client can do alone: every method is compared with it, if it was run."""


class Dumped(Protocol):
    """Something with a table."""

    def to_json(self) -> dict[str, Any]: ...


class Figures(Dumped, Protocol):
    """How well a method did on the test set."""

    def against(self, other: Self, /) -> Dumped:
        """The difference to another method on the same test set, paired."""
        ...


FiguresT = TypeVar("FiguresT", bound=Figures)


def fit_in_turn(methods: Sequence[SplitMethod], scene: Scene, *, observer: Observer) -> dict[str, tuple[Fitted, float]]:
    """Each method after training, and how many seconds that took."""
    result: dict[str, tuple[Fitted, float]] = {}
    for number, method in enumerate(methods, start=1):
        started = time.monotonic()
        # Each starts from the same seed: HiddenEcho and its ablations differ in what they are, not in their luck.
        result[method.name] = (method.fit(scene), time.monotonic() - started)
        observer.progress(Progress(round=number, rounds=len(methods), unit="method", figures=method.name))
    return result


def compared(
    methods: Sequence[SplitMethod],
    fitted: Mapping[str, tuple[Fitted, float]],
    tests: Mapping[str, Exchange],
    *,
    judge: Callable[[torch.Tensor], FiguresT],
    privacy: Callable[[SplitMethod, Fitted], float | None],
) -> dict[str, Any]:
    """Figures of each method on the test set.

    Args:
        methods: in order.
        fitted: each after training, and the seconds that took.
        tests: the test set as each method shows it to the server.
        judge: figures of what `Fitted.scores` gives.
        privacy: empirical privacy of a method; None where nothing was tried.
    """
    figures = {name: judge(fitted[name][0].scores(exchange)) for name, exchange in tests.items()}
    result = {}
    for method in methods:
        name, (model, seconds) = method.name, fitted[method.name]
        against = CONTROL in figures and name != CONTROL
        sent = Sent() if method.sees == "nothing" else model.sent + model.sent_for(tests[name])
        result[name] = figures[name].to_json() | {
            "sees": method.sees,
            "empirical_privacy": privacy(method, model),
            f"against_{CONTROL}": figures[name].against(figures[CONTROL]).to_json() if against else None,
            "bytes": in_bytes(sent),
            "seconds": round(seconds, 1),
        }
    return result


def in_bytes(sent: Sent) -> dict[str, int]:
    """As a table."""
    return {"up": sent.up, "down": sent.down}
