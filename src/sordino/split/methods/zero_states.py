"""Control: the side network without the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from sordino.split.methods.base import METHODS, Scene, SplitMethod

if TYPE_CHECKING:
    from sordino.split.fitting import FittedCorrector

__all__ = ["ZeroStates"]


@METHODS.register("zero-states")
@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroStates(SplitMethod):
    """HiddenEcho's side network with zeros in place of the server's states: what the client can do alone, sending nothing.

    Whatever HiddenEcho gains over this, the large model gave; if it gains nothing, the text need not have left at all.
    """

    sees: ClassVar[Literal["noised", "clean", "nothing"]] = "nothing"

    def fit(self, scene: Scene) -> FittedCorrector:
        """See `SplitMethod.fit`."""
        import torch

        from sordino.split.fitting import fit_corrector
        from sordino.split.stand_in import StandIn

        server = StandIn(scene.train.server.describe(), lambda shape, _: torch.zeros(shape))
        return fit_corrector(scene.alone(server))
