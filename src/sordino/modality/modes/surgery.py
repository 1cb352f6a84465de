"""Surgery: what training changed is clipped, noised, and put back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from sordino._check import at_least, at_most, fraction, positive
from sordino.config import Choice, option
from sordino.modality.budgets import BUDGETS, Budget
from sordino.modality.budgets.optimal import Optimal
from sordino.modality.modes.base import MODES, Mode, adjacency, claim
from sordino.modality.options import BackOff

if TYPE_CHECKING:
    from sordino.modality.case import Case
    from sordino.modality.modes.base import Withdrawal
    from sordino.privacy import Ledger, NoiseSource, Terms

__all__ = ["Surgery"]

_MOST_DIMENSIONS = 64


@MODES.register("surgery")
@dataclass(frozen=True, slots=True)
class Surgery(Mode):
    """The branch becomes ``reference + B^T(clip_C(B(exposed - reference)) + noise)``, part by part.

    The reference was trained on public clips alone. With ``hides = "modality"`` neighbours differ in whether the modality
    was ever collected, and one of the two differences is zero: D = C. With ``hides = "person"`` anybody's stream may be
    another, and both differences lie somewhere in the ball: D = 2C. The subspace B is spanned by public gradients and has at
    most 64 dimensions in all, since noise grows with their number and the difference does not.
    """

    epsilon: float = option("Budget of one withdrawal.", 4.0)
    delta: float = option("Probability with which the bound may fail.", 1e-5)
    hides: Literal["modality", "person"] = option(
        "Whether the modality was ever collected (D = C), or what any one person's stream was (D = 2C).", "modality"
    )
    clip: float = option("C of each part, in units of how far public training moved it.", 0.5)
    dimensions: int = option("Dimensions of the public subspace, all parts together; at most 64.", 12)
    parts: Literal["stages", "tiers"] = option("What is released together: a stage, or a tier of importance.", "stages")
    tiers: tuple[float, ...] = option("Fractions of the parameters in each tier but the last.", (0.05, 0.25))
    noise: Literal["isotropic", "correlated"] = option(
        "The same noise in every direction of the subspace, or less where public gradients are strong; C is then measured "
        "in the matching Mahalanobis norm.",
        "isotropic",
    )
    budget: Annotated[Budget, Choice(BUDGETS)] = option("How epsilon is divided over the parts.", factory=Optimal)
    back_off: BackOff = option("Over-deletion control.", factory=BackOff)

    def __post_init__(self) -> None:
        positive("modality.mode.epsilon", self.epsilon)
        fraction("modality.mode.delta", self.delta)
        positive("modality.mode.clip", self.clip)
        at_most("modality.mode.dimensions", at_least("modality.mode.dimensions", self.dimensions, 3), _MOST_DIMENSIONS)
        for share in (*self.tiers, 1 - sum(self.tiers)):
            fraction("modality.mode.tiers", share)

    def terms(self, case: Case, *, seeded: bool) -> Terms:
        """No budget is given to the ledger: several withdrawals from one model may compose to more than one's."""
        return claim(case, unit="person", delta=self.delta, seeded=seeded)

    def withdraw(self, case: Case, *, ledger: Ledger, noise: NoiseSource, place: str = "") -> Withdrawal:
        """See `sordino.modality.surgery.operate`."""
        from sordino.modality.surgery import operate

        return operate(self, case, ledger=ledger, noise=noise, place=place)

    def neighbours(self, modality: str) -> str:
        """Which two runs are compared, in words."""
        return adjacency(modality) if self.hides == "modality" else f"one person's {modality} replaced by any other"
