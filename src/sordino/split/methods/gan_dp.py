"""Baseline: embeddings that a generator has taken the noise out of, trained against a discriminator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from sordino._check import at_least, positive
from sordino.config import option
from sordino.split.methods.base import METHODS, Fitted, Scene, SplitMethod

if TYPE_CHECKING:
    from sordino.split.exchange import Exchange

__all__ = ["GanDp"]


@METHODS.register("gan-dp")
@dataclass(frozen=True, slots=True, kw_only=True)
class GanDp(SplitMethod):
    """GAN-DP: a generator takes noise out of the noised embeddings before they are sent; then as ``noised-embeddings``.

    HiddenEcho compares itself with a GAN-DP that is not described in enough detail to be repeated, so this is a reading of
    the name: a conditional generator of clean embeddings from noised ones. It is trained on public texts alone, and what is
    sent is made of it and of the one draw of noise. So the guarantee is that of the noise, whatever the generator does
    (post-processing), and nothing more is charged. What it takes out of the noise an attacker can take out, too: whoever
    measures this method must attack what the generator gave.
    """

    linear: ClassVar[bool] = True

    epochs: int = option("Passes over the public texts.", 20)
    lr: float = option("Learning rate of generator and discriminator.", 1e-3)
    reconstruction: float = option("Weight of the squared distance to the clean embedding.", 10.0)

    def __post_init__(self) -> None:
        at_least("gan-dp.epochs", self.epochs, 1)
        positive("gan-dp.lr", self.lr)
        at_least("gan-dp.reconstruction", self.reconstruction, 0)

    def fit(self, scene: Scene) -> Fitted:
        """See `SplitMethod.fit`."""
        import torch

        from sordino.split.embedding_gan import FittedGan, train_generator

        generator = train_generator(
            scene.public_noised,
            inner=scene.train.clean.shape[2] // scene.reduction,
            epochs=self.epochs,
            lr=self.lr,
            reconstruction=self.reconstruction,
            seeds=scene.seeds,
        )

        @cache
        @torch.no_grad()
        def shown(exchange: Exchange) -> Exchange:
            rows: torch.Tensor = generator(exchange.noised, exchange.mask)[exchange.mask]
            return exchange.showing(rows, tally=scene.sender.tally)

        last = [scene.train.server.describe().num_blocks]
        head = scene.readout.fit_head(
            shown(scene.train),
            features=lambda exchange: exchange.states(last)[:, 0],
            used=lambda exchange: exchange.sent(last),
        )
        return FittedGan(head, shown)
