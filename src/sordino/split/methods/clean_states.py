"""The upper reference for the side network: the same, on clean embeddings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from sordino.split.methods.base import METHODS, Scene, SplitMethod

if TYPE_CHECKING:
    from sordino.split.fitting import FittedCorrector

__all__ = ["CleanStates"]


@METHODS.register("clean-states")
@dataclass(frozen=True, slots=True, kw_only=True)
class CleanStates(SplitMethod):
    """HiddenEcho where the server is shown clean embeddings: what the noise costs it, and what the states could give.

    The model runs in the client's own process for it, so nothing is released.
    """

    sees: ClassVar[Literal["noised", "clean", "nothing"]] = "clean"

    def fit(self, scene: Scene) -> FittedCorrector:
        """See `SplitMethod.fit`."""
        from sordino.split.fitting import fit_corrector

        return fit_corrector(replace(scene, train=scene.clean, mode=scene.mode.client_only()))
