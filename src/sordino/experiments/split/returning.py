"""Which blocks come back from the server, and how wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sordino.split.exchange import Exchange
from sordino.split.hidden_states import ModelCard
from sordino.split.layer_filter import contributions, strongest

if TYPE_CHECKING:
    from sordino.experiments.split.serving import Served

__all__ = ["ReturnedBlocks", "chosen_layers", "require_returned"]


class ReturnedBlocks(Protocol):
    """The part of a ``[model]`` table that says what comes back."""

    @property
    def layers(self) -> tuple[int, ...] | None: ...
    @property
    def keep(self) -> int: ...
    @property
    def calibration(self) -> int: ...
    @property
    def reduction(self) -> int: ...


def require_returned(options: ReturnedBlocks, card: ModelCard) -> None:
    """Raises ConfigError unless the model has what is asked for, before anything is drawn or paid for."""
    # Which blocks the layer filter will choose is not known yet, but all have one width.
    layers = (1,) if options.layers is None else options.layers
    card.require_layers(layers, reduction=options.reduction)


def chosen_layers(options: ReturnedBlocks, served: Served, train: Exchange) -> tuple[int, ...]:
    """The blocks that come back: those given, or the strongest by integrated gradients on noised training sequences."""
    if options.layers is not None:
        return options.layers
    mask = train.mask[: options.calibration]
    longest = int(mask.sum(dim=1).max())
    figures = contributions(served.local, train.noised[: options.calibration, :longest], mask[:, :longest])
    return strongest(figures, keep=options.keep)
