"""Control: no large model at all, a linear head on clean embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sordino.split.methods.base import METHODS, Fitted, Scene, SplitMethod

__all__ = ["EmbeddingMean"]


@METHODS.register("embedding-mean")
@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingMean(SplitMethod):
    """A linear head on the mean of the clean embeddings, which never leave: a bag of words, the least a client can do."""

    sees: ClassVar[Literal["noised", "clean", "nothing"]] = "nothing"
    linear: ClassVar[bool] = True

    def fit(self, scene: Scene) -> Fitted:
        """See `SplitMethod.fit`."""
        from sordino.split.tally import Sent

        return scene.readout.fit_head(scene.train, features=lambda exchange: exchange.clean, used=lambda _: Sent())
