"""Plain local privacy: noised embeddings go up, the last states come back, a linear head reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sordino.split.methods.base import METHODS, Fitted, Scene, SplitMethod

__all__ = ["NoisedEmbeddings"]


@METHODS.register("noised-embeddings")
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisedEmbeddings(SplitMethod):
    """The server's last states on noised embeddings with a linear head, as without any correction."""

    linear: ClassVar[bool] = True

    def fit(self, scene: Scene) -> Fitted:
        """See `SplitMethod.fit`."""
        last = [scene.train.server.describe().num_blocks]
        return scene.readout.fit_head(
            scene.train,
            features=lambda exchange: exchange.states(last)[:, 0],
            used=lambda exchange: exchange.sent(last),
        )
