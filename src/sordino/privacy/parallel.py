"""Releases that several parties make side by side, each of data that nobody else has."""

from __future__ import annotations

import threading
from collections import Counter

from sordino.privacy.events import Event
from sordino.privacy.ledger import Ledger, Receipt

__all__ = ["ParallelReceipts"]


class ParallelReceipts:
    """One charge for the k-th release of all parties together.

    Formal guarantee: what is protected belongs to one party alone, so only that party's releases depend on it, and all of
    them cost what the releases of the party that made the most cost (parallel composition). The charge for a k-th release is
    on disk before any party makes its k-th.

    | parties | charged |
    |---|---|
    | none has released anything | nothing |
    | one made 3 releases, another 5 | 5 |
    | the same party under two names | too little: names must be parties |

    Args:
        ledger: is charged.
        event: what one release costs.
    """

    def __init__(self, ledger: Ledger, event: Event) -> None:
        self._ledger, self._event = ledger, event
        self._made: Counter[str] = Counter()
        self._charged = 0
        self._lock = threading.Lock()

    def receipt(self, party: str) -> Receipt:
        """That of the party's next release.

        Raises:
            BudgetExhausted: the budget does not cover it.
        """
        with self._lock:
            number = self._made[party] + 1
            if number > self._charged:
                paid = self._ledger.charge(self._event, round=number)
                self._charged = number
            else:
                paid = Receipt(self._event, ledger=self._ledger)
            self._made[party] = number
            return paid
