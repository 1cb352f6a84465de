"""Ablation: blocks at even distances, without the layer filter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sordino.split.methods.base import METHODS, Scene, SplitMethod

if TYPE_CHECKING:
    from sordino.split.fitting import FittedCorrector

__all__ = ["FixedLayers"]


@METHODS.register("fixed-layers")
@dataclass(frozen=True, slots=True, kw_only=True)
class FixedLayers(SplitMethod):
    """HiddenEcho on as many blocks at even distances, the last one among them."""

    def fit(self, scene: Scene) -> FittedCorrector:
        """See `SplitMethod.fit`."""
        from sordino.split.fitting import fit_corrector

        num_blocks, keep = scene.train.server.describe().num_blocks, len(scene.layers)
        layers = tuple(round(number * num_blocks / keep) for number in range(1, keep + 1))
        return fit_corrector(replace(scene, layers=layers))
