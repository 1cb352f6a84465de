"""The upper reference: clean embeddings and a linear head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sordino.split.methods.base import METHODS, Fitted, Scene, SplitMethod

__all__ = ["Clean"]


@METHODS.register("clean")
@dataclass(frozen=True, slots=True, kw_only=True)
class Clean(SplitMethod):
    """The last states on clean embeddings with a linear head: what noise costs is counted from here.

    The model runs in the client's own process for it, so nothing is released; a client who could really do that would need
    no server.
    """

    sees: ClassVar[Literal["noised", "clean", "nothing"]] = "clean"
    linear: ClassVar[bool] = True

    def fit(self, scene: Scene) -> Fitted:
        """See `SplitMethod.fit`."""
        last = [scene.clean.server.describe().num_blocks]
        return scene.readout.fit_head(
            scene.clean,
            features=lambda exchange: exchange.states(last)[:, 0],
            used=lambda exchange: exchange.sent(last),
        )
