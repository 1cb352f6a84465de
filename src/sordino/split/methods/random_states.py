"""Control: the side network with noise for states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from sordino.split.methods.base import METHODS, Scene, SplitMethod

if TYPE_CHECKING:
    from sordino.split.fitting import FittedCorrector

__all__ = ["RandomStates"]


@METHODS.register("random-states")
@dataclass(frozen=True, slots=True, kw_only=True)
class RandomStates(SplitMethod):
    """HiddenEcho's side network with random numbers in place of the server's states, sending nothing.

    It tells a gain of the states from a gain of the noise that they bring: noise alone can regularise.
    """

    sees: ClassVar[Literal["noised", "clean", "nothing"]] = "nothing"

    def fit(self, scene: Scene) -> FittedCorrector:
        """See `SplitMethod.fit`."""
        import torch

        from sordino.split.fitting import fit_corrector
        from sordino.split.stand_in import StandIn

        def drawn(shape: tuple[int, ...], key: bytes) -> torch.Tensor:
            generator = scene.seeds.at("random states", key.hex()).generator()
            return torch.from_numpy(generator.standard_normal(shape, dtype="float32"))

        server = StandIn(scene.train.server.describe(), drawn)
        return fit_corrector(scene.alone(server))
