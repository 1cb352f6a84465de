"""One phase of a round: what is sent, who may look at it, and its guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias

from sordino.layout import ParameterLayout
from sordino.privacy.events import Event

if TYPE_CHECKING:
    from sordino.privacy.plan import Plan

__all__ = ["NoisedBy", "Phase", "Reads", "Step"]

NoisedBy: TypeAlias = Literal["server", "clients"]


class Reads(StrEnum):
    """What of the clients' uploads the server's algorithm looks at.

    | reads | what it is given | noise that the server adds |
    |---|---|---|
    | NOTHING | nothing: clients send nothing | - |
    | SUM | the mean | protects |
    | MIX | a weighted sum for each client, by weights that do not depend on what is summed | protects, see `mixing` |
    | EACH | every single upload | cannot protect: the clients must add it |
    """

    NOTHING = "nothing"
    SUM = "sum"
    MIX = "mix"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class Phase:
    """One step of a round: the clients drawn work and send something, and the server takes it in.

    Attributes:
        name: tells the phases of a round apart.
        layout: of what clients send: the model's, a part of it (slices counted from zero), or an embedding's.
        reads: what the server looks at.
        clip_norm: C of this phase, clipped as one block; None for the ``[privacy]`` table's C and allocation.
        noised_by_clients: whether clients noise this phase's uploads even where the server adds all other noise.
    """

    name: str
    layout: ParameterLayout
    reads: Reads = Reads.SUM
    clip_norm: float | None = None
    noised_by_clients: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A phase and its guarantee.

    Attributes:
        phase: what is sent.
        plan: how it is bounded and noised.
        noised_by: whether the server noises what it has added up, or each client what it sends.
    """

    phase: Phase
    plan: Plan
    noised_by: NoisedBy = "server"

    def event(self) -> Event | None:
        """What it costs by itself; None if nothing is sent."""
        if self.phase.reads is Reads.NOTHING:
            return None
        if self.noised_by == "clients" or self.phase.reads is Reads.EACH:
            return self.plan.client_event()
        return self.plan.event()
