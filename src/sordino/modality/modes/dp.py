"""Differentially private training of the modality's branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from sordino._check import at_least, fraction, positive
from sordino.config import Choice, option
from sordino.errors import ConfigError
from sordino.modality.modes.base import MODES, Mode, claim
from sordino.modality.options import BackOff
from sordino.models.emotion.options import STAGES
from sordino.privacy import ALLOCATIONS, Allocation
from sordino.privacy.allocations.flat import Flat

if TYPE_CHECKING:
    from sordino.modality.case import Case
    from sordino.modality.modes.base import Withdrawal
    from sordino.privacy import Ledger, NoiseSource, Terms

__all__ = ["PrivateTraining"]


@MODES.register("dp")
@dataclass(frozen=True, slots=True)
class PrivateTraining(Mode):
    """The branch goes on from the public reference in a few steps, each a noised mean of clipped gradients.

    ``theta <- theta - lr * (sum over drawn units of clip_C(gradient of the unit) + z C noise) / (q K)``

    A unit is a recording, or a speaker, whose gradient is the mean over the clips. Plan, allocation of C over the branch's
    tensors, ledger and accounting are those of federated training.
    """

    epsilon: float = option("Budget of all steps together.", 4.0)
    delta: float = option("Probability with which the bound may fail.", 1e-5)
    unit: Literal["sequence", "speaker"] = option("Whom the guarantee is for: one recording, or a speaker.", "sequence")
    stages: tuple[str, ...] = option(
        "Stages of the branch that are trained; the others stay as in the reference.", STAGES
    )
    steps: int = option("Number of steps T.", 8)
    rate: float = option("Probability q that a unit takes part in a step.", 1.0)
    lr: float = option("Step size, for gradients of at most C.", 0.5)
    clip_norm: float = option("C: the L2 norm that one unit's gradient is clipped to.", 1.0)
    allocation: Annotated[Allocation, Choice(ALLOCATIONS)] = option("How C is divided over the tensors.", factory=Flat)
    back_off: BackOff = option("Over-deletion control.", factory=BackOff)

    def __post_init__(self) -> None:
        positive("modality.mode.epsilon", self.epsilon)
        fraction("modality.mode.delta", self.delta)
        at_least("modality.mode.steps", self.steps, 1)
        fraction("modality.mode.rate", self.rate, one=True)
        positive("modality.mode.lr", self.lr)
        positive("modality.mode.clip_norm", self.clip_norm)
        if not self.stages or not set(self.stages) <= set(STAGES):
            raise ConfigError(
                f"modality.mode.stages = {list(self.stages)}: expected at least one of {', '.join(STAGES)}; name some."
            )

    @property
    def reads_single_clips(self) -> bool:
        """A recording is hidden only if no other one's features depend on it."""
        return self.unit == "sequence"

    def terms(self, case: Case, *, seeded: bool) -> Terms:
        """The ledger stops before the budget is exceeded; the population is counted from the data."""
        from sordino.modality.private_training import protected_units

        return claim(
            case,
            unit=self.unit,
            delta=self.delta,
            seeded=seeded,
            population=len(protected_units(case, kind=self.unit)),
            budget=self.epsilon,
            caveats=("the number of units was counted from the data, and the noise depends on it",),
        )

    def withdraw(self, case: Case, *, ledger: Ledger, noise: NoiseSource, place: str = "") -> Withdrawal:
        """See `sordino.modality.private_training.train_privately`."""
        from sordino.modality.private_training import train_privately

        return train_privately(self, case, ledger=ledger, noise=noise, place=place)
