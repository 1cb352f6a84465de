"""Ablation: states of full width, which the client reduces itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sordino.split.methods.base import METHODS, Scene, SplitMethod

if TYPE_CHECKING:
    from sordino.split.fitting import FittedCorrector

__all__ = ["NoReducer"]


@METHODS.register("no-reducer")
@dataclass(frozen=True, slots=True, kw_only=True)
class NoReducer(SplitMethod):
    """HiddenEcho on states of full width, each block's with a linear map of the client's own: r times the downlink.

    Whatever the mode, only the client learns: there is no reducer at the server to train.
    """

    def fit(self, scene: Scene) -> FittedCorrector:
        """See `SplitMethod.fit`."""
        from sordino.split.fitting import fit_corrector

        return fit_corrector(replace(scene, mode=scene.mode.client_only()), full_width=True)
