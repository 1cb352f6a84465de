"""The guarantee of a round in several phases, and how it is charged: once, before anything of the round is released."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from sordino.layout import ParameterLayout
from sordino.privacy.allocations import ReleasedNorms
from sordino.privacy.cohort import CohortSampler
from sordino.privacy.events import Event
from sordino.privacy.joint import joint
from sordino.privacy.ledger import Ledger, Receipt
from sordino.privacy.plan import Learned, Plan
from sordino.privacy.steps import Step

__all__ = ["Charging", "PhasedPlan", "RoundPlan", "round_event"]


@dataclass(frozen=True)
class PhasedPlan:
    """The plans of several phases that share one cohort; `sordino.privacy.joint` says why they cost one event.

    Args:
        layout: the model's.
        steps: the phases, whose plans have one cohort and one population.
    """

    layout: ParameterLayout
    steps: tuple[Step, ...]

    @property
    def cohort(self) -> CohortSampler:
        """How the round's clients are drawn, once."""
        return self.steps[0].plan.cohort

    @property
    def population(self) -> int:
        """K, the declared number of clients."""
        return self.steps[0].plan.population

    def after_round(self, seen: Sequence[ReleasedNorms | None]) -> Self:
        """The plan for the next round, each phase's plan having seen its own release; None where there was nothing."""
        pairs = zip(self.steps, seen, strict=True)
        return self._with([step.plan if norms is None else step.plan.after(norms) for step, norms in pairs])

    @property
    def learned(self) -> Learned:
        """What each phase's plan has learned."""
        return Learned(phases=tuple(step.plan.learned for step in self.steps))

    def resumed(self, learned: Learned) -> Self:
        """This plan, each phase having learned that."""
        return self._with([step.plan.resumed(each) for step, each in zip(self.steps, learned.phases, strict=True)])

    def _with(self, plans: Sequence[Plan]) -> Self:
        steps = tuple(replace(step, plan=plan) for step, plan in zip(self.steps, plans, strict=True))
        return replace(self, steps=steps)


RoundPlan = Plan | PhasedPlan
"""The guarantee of a round: of a single phase, or of several."""


def round_event(plan: RoundPlan) -> Event | None:
    """What a whole round costs; None if nothing is sent in it."""
    events = [event for step in plan.steps if (event := step.event()) is not None]
    return joint(events) if events else None


class Charging:
    """Charges one round the first time that something of it is about to be released, and then has a receipt a phase.

    So a client that fails in the first phase ends the round unpaid where the server adds the noise; uploads that clients
    noise themselves are paid for before anybody is asked.

    Args:
        plan: of the round.
        ledger: that is charged.
        round: its number.
    """

    def __init__(self, plan: RoundPlan, ledger: Ledger, *, round: int) -> None:  # noqa: A002 - the domain's word
        self._plan, self._ledger, self._round = plan, ledger, round

    def require(self) -> None:
        """Raises BudgetExhausted if the budget does not cover the round."""
        event = round_event(self._plan)
        if event is not None:
            self._ledger.require(event, round=self._round)

    def receipt(self) -> Receipt:
        """That of the next phase that releases something."""
        return next(self._receipts)

    @cached_property
    def _receipts(self) -> Iterator[Receipt]:
        event = round_event(self._plan)
        assert event is not None  # noqa: S101 - asked for by a phase that releases something
        paid = self._ledger.charge(event, round=self._round)
        return iter(paid.divide([cost for step in self._plan.steps if (cost := step.event()) is not None]))
