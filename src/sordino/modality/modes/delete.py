"""Exact deletion: the network that has never seen the modality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sordino.modality.modes.base import MODES, Mode, Withdrawal, adjacency, claim

if TYPE_CHECKING:
    from sordino.modality.case import Case
    from sordino.privacy import Ledger, NoiseSource, Terms

__all__ = ["Delete"]


@MODES.register("delete")
@dataclass(frozen=True, slots=True)
class Delete(Mode):
    """Leaves the modality's branch out: exact by construction.

    The branch was trained last, on a random stream of its own, with everything else frozen, and contributions are added,
    so what remains is, bit for bit, the network that was never given the modality, and its epsilon is 0. What was released
    before the deletion is not undone by it.
    """

    def terms(self, case: Case, *, seeded: bool) -> Terms:
        """Nothing is released that depends on the modality."""
        return claim(
            case, unit="person", delta=1e-12, seeded=seeded, caveats=("whatever was released before the deletion",)
        )

    def withdraw(self, case: Case, *, ledger: Ledger, noise: NoiseSource, place: str = "") -> Withdrawal:  # noqa: ARG002
        """The kept network itself; nothing to charge."""
        return Withdrawal(
            network=case.kept,
            mechanism={"kind": "exact deletion by construction", "adjacency": adjacency(case.modality)},
        )
