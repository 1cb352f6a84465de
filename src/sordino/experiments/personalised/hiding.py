"""How one method's local training hides single recordings, and what the run's ledger is charged for it.

| where clients are | the run's ledger is charged |
|---|---|
| in this process | for the k-th step of whoever takes most, before anybody takes a k-th |
| at nodes, whose steps nobody here sees | for all steps that the method asks of a client, before its first message leaves |

What is charged for nodes is what each of them spends if it is drawn in every round: no node spends more, as long as it takes
the steps that it is asked for. Each node besides charges every step in a ledger of its own, see
`sordino.privacy.own_ledger`.
"""

from __future__ import annotations

from dataclasses import dataclass

from sordino.experiments.personalised.entry import Entry
from sordino.federated.private_steps import PrivateSteps
from sordino.privacy import Ledger, NoiseSource
from sordino.privacy.events import GaussianEvent
from sordino.privacy.parallel import ParallelReceipts
from sordino.privacy.recordings import RecordingPrivacy

__all__ = ["Hiding"]


@dataclass(frozen=True, kw_only=True)
class Hiding:
    """What one method's steps need.

    Attributes:
        options: bound and rate.
        entry: the method's noise, and how many steps it asks of a client.
        ledger: the run's.
        noise: draws recordings and makes the noise where clients are here.
    """

    options: RecordingPrivacy
    entry: Entry
    ledger: Ledger
    noise: NoiseSource

    @property
    def event(self) -> GaussianEvent:
        """What one step costs."""
        return self.options.event(self.entry.noise_multiplier)

    def steps(self) -> PrivateSteps:
        """For clients in this process, who are charged as they go."""
        receipts = ParallelReceipts(self.ledger, self.event)
        return PrivateSteps(self.options, self.entry.noise_multiplier, receipts, self.noise)

    def charge_ahead(self) -> None:
        """For clients elsewhere.

        Raises:
            BudgetExhausted: the budget does not cover all steps.
        """
        for number in range(1, self.entry.steps + 1):
            self.ledger.charge(self.event, round=number)
