"""What every mode shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sordino._registry import Registry

if TYPE_CHECKING:
    from sordino.modality.case import Case
    from sordino.models.emotion import EmotionNetwork
    from sordino.privacy import Ledger, NoiseSource, Terms
    from sordino.privacy.ledger import Unit

__all__ = ["MODES", "Mode", "Withdrawal", "adjacency", "claim"]

MODES: Registry[Mode] = Registry("withdrawal mode", package="sordino.modality.modes")
"""All modes by name, the values of ``modality.mode``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """What a mode made.

    Attributes:
        network: what may be released.
        mechanism: how it was made, in plain types: for the certificate.
    """

    network: EmotionNetwork
    mechanism: Mapping[str, Any]


class Mode(ABC):
    """One way to withdraw a modality. Members are frozen dataclasses whose fields are their options."""

    name: ClassVar[str]

    @property
    def needs_isolation(self) -> bool:
        """Whether its claim needs the modality's branch to be trained last, with everything else frozen."""
        return True

    @property
    def reads_single_clips(self) -> bool:
        """Whether a clip's features must not depend on other clips of its speaker."""
        return False

    @abstractmethod
    def terms(self, case: Case, *, seeded: bool) -> Terms:
        """What the claim is about."""

    @abstractmethod
    def withdraw(self, case: Case, *, ledger: Ledger, noise: NoiseSource, place: str = "") -> Withdrawal:
        """Makes what may be released, charging the ledger first.

        Args:
            case: the network and the modality.
            ledger: opened under `terms`.
            noise: where noise comes from.
            place: names this withdrawal among others of a seeded simulation.

        Raises:
            BudgetExhausted: the ledger's budget does not cover it.
        """


def claim(
    case: Case,
    *,
    unit: Unit,
    delta: float,
    seeded: bool,
    population: int | None = None,
    budget: float | None = None,
    caveats: tuple[str, ...] = (),
) -> Terms:
    """Terms about one modality, which say that they are about no other.

    Args:
        case: the network and the modality.
        unit: whom the claim is for.
        delta: probability with which it may fail.
        seeded: whether noise comes from a seed.
        population: number of units; of private speakers if not given.
        budget: epsilon that the ledger stops at.
        caveats: what else the claim does not cover.
    """
    from sordino.privacy import Terms

    others = ", ".join(case.kept.modalities) or "none"
    return Terms(
        unit=unit,
        population=population or max(1, len(set(case.private.speakers))),
        clients_per_speaker=1,
        delta=delta,
        budget=budget,
        seeded=seeded,
        caveats=(
            *caveats,
            f"anything but the {case.modality}: the other branches ({others}) learnt from the same people without noise",
        ),
    )


def adjacency(modality: str) -> str:
    """Two runs that differ in whether the modality was ever collected, in words."""
    return f"the {modality} of everybody collected or never collected"
