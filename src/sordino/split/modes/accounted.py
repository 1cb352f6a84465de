"""The server learns from gradients that are clipped, noised and charged."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sordino._check import at_least, positive
from sordino.config import option
from sordino.privacy import GaussianRelease
from sordino.privacy.noise import Stream
from sordino.seeds import Seeds
from sordino.split.modes.base import MODES, TrainingMode
from sordino.split.noise.base import Unit

if TYPE_CHECKING:
    import torch

    from sordino.split.exchange import Exchange
    from sordino.split.gradient_channel import GradientChannel
    from sordino.split.sending import Sender

__all__ = ["Accounted"]


@MODES.register("accounted")
@dataclass(frozen=True, slots=True, kw_only=True)
class Accounted(TrainingMode):
    """The server's reducers learn from gradients under the Gaussian mechanism; embeddings are drawn once, as in client-only.

    The gradient of each step, at all states of its batch, is clipped to norm C as one vector, and every coordinate gets
    noise of standard deviation ``2 C z``. Each step is charged by itself. Clipping each sequence and charging each epoch
    would be cheaper and wrong: the client's network has learned from all sequences without noise, so a gradient at *any*
    sequence tells of every other.

    | changed | sensitivity of a step |
    |---|---|
    | one token, one sequence or label, in the batch or in any earlier one | 2C |
    | the number of sequences or their lengths | not covered: they are public |
    """

    trains_server: ClassVar[bool] = True

    clip_norm: float = option("C, the bound on the gradient of a step.", 0.01)
    noise_multiplier: float = option("z: standard deviation of the noise in units of 2C.", 20.0)
    server_lr: float = option("Learning rate of the server's reducers and adapters.", 1e-3)
    bottleneck: float = option("a, the weight of the bottleneck's loss; 0 leaves it out.", 0.001)
    beta: float = option("The bottleneck's beta.", 1.0)
    lora: bool = option("Train adapters of the server's model, too.", default=False)

    def __post_init__(self) -> None:
        TrainingMode.__post_init__(self)
        for name in ("clip_norm", "noise_multiplier", "server_lr"):
            positive(f"training.{name}", getattr(self, name))
        at_least("training.bottleneck", self.bottleneck, 0)

    def event(self, unit: Unit) -> GaussianRelease:
        """What a step costs."""
        return GaussianRelease(
            noise_multiplier=self.noise_multiplier,
            neighbours=f"one {unit} replaced by another",
            what="the gradient of one step",
        )

    def open(
        self, exchange: Exchange, *, layers: tuple[int, ...], reduction: int | None, sender: Sender, seeds: Seeds
    ) -> GradientChannel:
        """See `TrainingMode.open`."""
        from sordino.split.gradient_channel import open_channel

        event, steps = self.event(sender.unit), itertools.count(1)

        def release(gradient: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            step = next(steps)
            receipt = sender.ledger.charge(event, round=step)
            receipt.spend(event, seeded=sender.source.seeded)
            return self._noised(gradient, mask, stream=sender.source.stream("split", "gradient", step))

        return open_channel(
            self,
            exchange,
            layers=layers,
            reduction=reduction,
            pay=lambda _: exchange.noised,
            release=release,
            tally=sender.tally,
            seeds=seeds,
        )

    def _noised(self, gradient: torch.Tensor, mask: torch.Tensor, *, stream: Stream) -> torch.Tensor:
        """The gradient, clipped and with noise at every place that holds a token.

        A gradient that is not finite counts as zero.
        """
        import torch

        from sordino.split.sequences import padded

        rows = gradient.transpose(1, 2)[mask].double()  # [tokens, L', d/r]
        norm = float(torch.linalg.vector_norm(rows))
        factor = min(1.0, self.clip_norm / max(norm, 1e-30)) if math.isfinite(norm) else 0.0
        clipped = torch.nan_to_num(rows) * factor if factor else torch.zeros_like(rows)
        std = 2 * self.clip_norm * self.noise_multiplier
        noisy = clipped + std * torch.from_numpy(stream.normal(rows.numel())).view_as(rows)
        return padded(noisy.to(gradient.dtype), mask).transpose(1, 2)
