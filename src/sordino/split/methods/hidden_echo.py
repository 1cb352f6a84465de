"""HiddenEcho: states of the blocks that matter, corrected by the client's side network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sordino.split.methods.base import METHODS, Scene, SplitMethod

if TYPE_CHECKING:
    from sordino.split.fitting import FittedCorrector

__all__ = ["HiddenEcho"]


@METHODS.register("hidden-echo")
@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenEcho(SplitMethod):
    """Reduced states of the chosen blocks, the side network with gates and residuals, and a linear head.

    Source: HiddenEcho, OpenReview ER9BElK8He.
    """

    def fit(self, scene: Scene) -> FittedCorrector:
        """See `SplitMethod.fit`."""
        from sordino.split.fitting import fit_corrector

        return fit_corrector(scene)
