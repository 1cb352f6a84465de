"""Split-and-Denoise: the last states, denoised by a network that was pretrained on public text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sordino._check import at_least, positive
from sordino.config import option
from sordino.split.methods.base import METHODS, Fitted, Scene, SplitMethod

if TYPE_CHECKING:
    import torch

    from sordino.split.exchange import Exchange

__all__ = ["SplitAndDenoise"]


@METHODS.register("snd")
@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAndDenoise(SplitMethod):
    """Split-and-Denoise: a bidirectional denoiser of the last states, pretrained on public text, and a linear head.

    Source: Mai et al., 2024; see `sordino.split.denoiser`.
    """

    linear: ClassVar[bool] = True

    epochs: int = option("Passes over the public texts.", 20)
    lr: float = option("Learning rate of the denoiser.", 1e-3)

    def __post_init__(self) -> None:
        at_least("snd.epochs", self.epochs, 1)
        positive("snd.lr", self.lr)

    def fit(self, scene: Scene) -> Fitted:
        """See `SplitMethod.fit`."""
        import torch

        from sordino.split.denoiser import pretrain

        last = [scene.train.server.describe().num_blocks]
        inner = scene.train.clean.shape[2] // scene.reduction
        denoiser = pretrain(
            scene.public, scene.public_noised, inner=inner, epochs=self.epochs, lr=self.lr, seeds=scene.seeds
        )

        @torch.no_grad()
        def denoised(exchange: Exchange) -> torch.Tensor:
            tokens: torch.Tensor = denoiser(exchange.clean, exchange.noised, exchange.states(last)[:, 0], exchange.mask)
            return tokens

        return scene.readout.fit_head(scene.train, features=denoised, used=lambda exchange: exchange.sent(last))
