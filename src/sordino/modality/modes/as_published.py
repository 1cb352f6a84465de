"""The published recipe, for comparison: its sensitivity is observed, so that it guarantees nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sordino._check import at_least, fraction, positive
from sordino.config import option
from sordino.modality.modes.base import MODES, Mode, claim

if TYPE_CHECKING:
    from sordino.modality.case import Case
    from sordino.modality.modes.base import Withdrawal
    from sordino.privacy import Ledger, NoiseSource, Terms

__all__ = ["AsPublished"]


@MODES.register("as-published")
@dataclass(frozen=True, slots=True)
class AsPublished(Mode):
    """Noise on the parameters that seem most tied to the modality, as much as a few batches seem to need. No guarantee.

    Importance is ``|gradient * parameter|`` on the private clips; Delta is the largest distance between one training step
    with the modality and one without it, over calibration batches; noise of ``Delta sqrt(2 ln(1.25/delta)) / epsilon`` is
    added to the most important parameters. The largest value seen in a few batches bounds nothing, which parameters were
    chosen tells of the data, and the others keep what they learnt.

    Source: arXiv 2602.16144.
    """

    epsilon: float = option("Epsilon that the recipe claims.", 1.0)
    delta: float = option("Delta that the recipe claims.", 1e-5)
    sensitivity: Literal["observed"] = option("Where Delta comes from. An observation is no bound.", "observed")
    fraction: float = option("Fraction of the network's parameters that get noise.", 0.1)
    batches: int = option("Calibration batches.", 8)
    lr: float = option("Step size of the calibration step.", 0.1)

    def __post_init__(self) -> None:
        positive("modality.mode.epsilon", self.epsilon)
        fraction("modality.mode.delta", self.delta)
        fraction("modality.mode.fraction", self.fraction)
        at_least("modality.mode.batches", self.batches, 1)
        positive("modality.mode.lr", self.lr)

    @property
    def needs_isolation(self) -> bool:
        """It claims nothing that isolation could uphold."""
        return False

    def terms(self, case: Case, *, seeded: bool) -> Terms:
        """Of a plain release."""
        return claim(case, unit="person", delta=self.delta, seeded=seeded)

    def withdraw(self, case: Case, *, ledger: Ledger, noise: NoiseSource, place: str = "") -> Withdrawal:
        """See `sordino.modality.published_recipe.follow_recipe`."""
        from sordino.modality.published_recipe import follow_recipe

        return follow_recipe(self, case, ledger=ledger, noise=noise, place=place)
