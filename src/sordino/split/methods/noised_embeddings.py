"""Plain local privacy: noised embeddings go up, the last states come back, a linear head reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sordino.split.methods.base import METHODS, Scene, SplitMethod

if TYPE_CHECKING:
    from sordino.split.linear_head import FittedHead

__all__ = ["NoisedEmbeddings"]


@METHODS.register("noised-embeddings")
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisedEmbeddings(SplitMethod):
    """The server's last states on noised embeddings with a linear head, as without any correction."""

    def fit(self, scene: Scene) -> FittedHead:
        """See `SplitMethod.fit`."""
        from sordino.split.linear_head import fit_head

        last = [scene.train.server.describe().num_blocks]
        return fit_head(
            scene.train,
            features=lambda exchange: exchange.states(last)[:, 0],
            used=lambda exchange: exchange.sent(last),
        )
