"""How a phase's uploads are taken in: added up, mixed, or one by one. Each way knows when it has to be paid for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TypeAlias

import torch

from sordino.errors import PrivacyError
from sordino.privacy.local_noise import Noising
from sordino.privacy.mixing import MixedSum, Mixing
from sordino.privacy.noise import NoiseSource
from sordino.privacy.phases import Charging
from sordino.privacy.plan import Plan
from sordino.privacy.sharing import Sharing
from sordino.privacy.steps import Reads, Step
from sordino.privacy.sums import noised
from sordino.privacy.updates import ClippedUpdate, Released

__all__ = ["Intake", "TakenIn", "Upload", "bounded", "open_intake", "released"]

Upload: TypeAlias = ClippedUpdate | Released | None
"""What a client sends: a bounded update; one that it has noised already; or nothing."""

TakenIn: TypeAlias = Released | Mapping[str, Released] | None
"""What the server's algorithm is given: a mean; a mixture, or an upload, for each client; or nothing."""


class Intake(ABC):
    """One phase's uploads on their way into the server's algorithm."""

    noising: Noising | Sharing | None = None
    """How clients noise what they send, where they do. Noise that lets it be looked at is paid for on opening."""

    @abstractmethod
    def add(self, client: str, upload: Upload) -> None:
        """Takes in one upload."""

    @abstractmethod
    def release(self) -> TakenIn:
        """What the server's algorithm is given, paid for."""


def open_intake(
    step: Step, *, mixing: Mixing | None, charging: Charging, noise: NoiseSource, place: tuple[str | int, ...]
) -> Intake:
    """How this phase's uploads are taken in.

    Args:
        step: the phase and its guarantee.
        mixing: the weights, for a phase that reads mixtures.
        charging: of the round.
        noise: where the server's noise comes from, and that of clients in this process.
        place: names the phase's release among others of a seeded simulation.
    """
    reads, plan = step.phase.reads, step.plan
    if reads is Reads.NOTHING:
        return _Nothing()
    if reads is Reads.MIX:
        assert mixing is not None  # noqa: S101 - the round loop asks the method for it
    if step.noised_by == "clients":
        noising = plan.noising(receipt=charging.receipt(), noise=noise)
        if reads is Reads.SUM:
            return _NoisedSum(noising, plan)
        return _NoisedEach(noising) if mixing is None else _NoisedMixed(noising, plan, mixing)
    if mixing is not None:
        return _Mixed(MixedSum(mixing, plan), charging, noise, place)
    sharing = plan.sharing(noise)
    return _Sum(plan, charging, noise, place) if sharing is None else _SharedSum(sharing, plan, charging, noise, place)


class _Nothing(Intake):
    def add(self, client: str, upload: Upload) -> None:
        if upload is not None:
            raise PrivacyError(f"client {client!r} sent something in a phase in which nothing is sent; send None.")

    def release(self) -> None:
        return None


class _Sum(Intake):
    """The server adds up, is paid for when all have answered, and adds noise."""

    def __init__(self, plan: Plan, charging: Charging, noise: NoiseSource, place: tuple[str | int, ...]) -> None:
        self._plan, self._charging, self._noise, self._place = plan, charging, noise, place
        self._total = plan.empty_sum()

    def add(self, client: str, upload: Upload) -> None:
        self._total.add(bounded(client, upload))

    def release(self) -> Released:
        receipt = self._charging.receipt()
        return self._plan.release(self._total, receipt=receipt, noise=self._noise, place=self._place)


class _SharedSum(_Sum):
    """Every upload brings its share of the noise; the server counts them, and adds the shares that are missing."""

    def __init__(
        self,
        sharing: Sharing,
        plan: Plan,
        charging: Charging,
        noise: NoiseSource,
        place: tuple[str | int, ...],
    ) -> None:
        super().__init__(plan, charging, noise, place)
        self.noising, self._answered = sharing, 0

    def add(self, client: str, upload: Upload) -> None:
        super().add(client, upload)
        self._answered += 1

    def release(self) -> Released:
        receipt = self._charging.receipt()
        return self._plan.release(
            self._total, receipt=receipt, noise=self._noise, place=self._place, answered=self._answered
        )


class _Mixed(Intake):
    def __init__(self, total: MixedSum, charging: Charging, noise: NoiseSource, place: tuple[str | int, ...]) -> None:
        self._total, self._charging, self._noise, self._place = total, charging, noise, place

    def add(self, client: str, upload: Upload) -> None:
        self._total.add(client, bounded(client, upload))

    def release(self) -> Mapping[str, Released]:
        return self._total.release(receipt=self._charging.receipt(), noise=self._noise, place=self._place)


class _NoisedSum(Intake):
    """The mean of what carries noise already, added up as it comes."""

    def __init__(self, noising: Noising, plan: Plan) -> None:
        self.noising = self._own = noising
        self._n = plan.expected_cohort
        self._values, self._count = torch.zeros(plan.layout.size, dtype=torch.float64), 0

    def add(self, client: str, upload: Upload) -> None:
        self._values += released(client, upload).values
        self._count += 1

    def release(self) -> Released:
        stds = [math.sqrt(self._count) * std / self._n for std in self._own.stds]
        return noised((self._values / self._n).float(), self._own.clipper.bounds.blocks, stds)


class _NoisedEach(Intake):
    def __init__(self, noising: Noising) -> None:
        self.noising = noising
        self._uploads: dict[str, Released] = {}

    def add(self, client: str, upload: Upload) -> None:
        self._uploads[client] = released(client, upload)

    def release(self) -> Mapping[str, Released]:
        return self._uploads


class _NoisedMixed(_NoisedEach):
    def __init__(self, noising: Noising, plan: Plan, mixing: Mixing) -> None:
        super().__init__(noising)
        self._plan, self._mixing = plan, mixing

    def release(self) -> Mapping[str, Released]:
        return self._mixing.of_released(self._uploads, self._plan)


def bounded(client: str, upload: Upload) -> ClippedUpdate:
    """The upload as a clipped update; raises PrivacyError, with the client's name, if it is something else."""
    if not isinstance(upload, ClippedUpdate):
        raise PrivacyError(f"client {client!r} sent no clipped update; clip it with the task's bounding.")
    return upload


def released(client: str, upload: Upload) -> Released:
    """The upload as one that carries its noise; raises PrivacyError, with the client's name, if it is something else."""
    if not isinstance(upload, Released):
        raise PrivacyError(
            f"client {client!r} sent an upload without noise of its own; seal it with the task's noising."
        )
    return upload
