"""Ablation: the side network without residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sordino.split.methods.base import METHODS, Scene, SplitMethod

if TYPE_CHECKING:
    from sordino.split.fitting import FittedCorrector

__all__ = ["NoResidual"]


@METHODS.register("no-residual")
@dataclass(frozen=True, slots=True, kw_only=True)
class NoResidual(SplitMethod):
    """HiddenEcho with ``A_i = T_i(Z_i)`` in place of ``A_i = A_{i-1} + T_i(Z_i)``."""

    def fit(self, scene: Scene) -> FittedCorrector:
        """See `SplitMethod.fit`."""
        from sordino.split.fitting import fit_corrector

        return fit_corrector(scene, residual=False)
