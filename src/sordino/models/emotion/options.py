"""How large a branch is, and what bounds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sordino._check import at_least, fraction, one_of, positive
from sordino.config import option
from sordino.errors import ConfigError

__all__ = ["STAGES", "STATISTICS", "BranchOptions"]

STAGES: Final = ("features", "fusion", "classification")
"""The layers of a branch, by what they do: what a modality shows, how it is joined to the others, and what follows."""

STATISTICS: Final = ("mean", "deviation", "low", "high", "change")
"""What can be asked of a sequence of frames, see `sordino.models.emotion.pooling.pool`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchOptions:
    """One modality's branch: statistics of its frames, then three layers, one for each stage."""

    statistics: tuple[str, ...] = option(
        "What is taken of a clip's frames: mean, deviation, low (10 %), high (90 %), change (from frame to frame).",
        ("mean", "deviation"),
    )
    hidden: int = option("Width of the two hidden layers.", 32)
    dropout: float = option("Dropout before the last layer while training.", 0.3)
    lipschitz: float | None = option(
        "The most that the contribution may move for one unit of input; each layer's spectral norm is kept at its cube "
        "root. Unset: no bound.",
        None,
    )
    max_contribution: float | None = option(
        "L2 norm that the contribution to the class scores is scaled down to. Unset: no bound.", None
    )

    def __post_init__(self) -> None:
        if not self.statistics:
            raise ConfigError(
                f"model.branch.statistics = []: expected at least one of {', '.join(STATISTICS)}; name one."
            )
        for name in self.statistics:
            one_of("model.branch.statistics", name, STATISTICS)
        at_least("model.branch.hidden", self.hidden, 1)
        fraction("model.branch.dropout", self.dropout, zero=True)
        if self.lipschitz is not None:
            positive("model.branch.lipschitz", self.lipschitz)
        if self.max_contribution is not None:
            positive("model.branch.max_contribution", self.max_contribution)
