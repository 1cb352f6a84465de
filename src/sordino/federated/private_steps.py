"""Steps of local training that hide single recordings: drawn, clipped one by one, added up, noised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch

from sordino.layout import ParameterLayout
from sordino.privacy import NoiseSource, Receipt, Update
from sordino.privacy.recordings import RecordingPrivacy

__all__ = ["PaysForSteps", "PrivateSteps"]

_Item = TypeVar("_Item")


class PaysForSteps(Protocol):
    """See `sordino.privacy.parallel.ParallelReceipts` and `sordino.privacy.own_ledger.OwnReceipts`."""

    def receipt(self, party: str) -> Receipt:
        """Proof that the party's next step is charged."""
        ...


@dataclass(frozen=True)
class PrivateSteps:
    """How a client takes steps, see `sordino.privacy.recordings` for what they guarantee.

    Args:
        options: bound and rate.
        noise_multiplier: z.
        receipts: pays for each step.
        noise: draws recordings and makes the noise.
    """

    options: RecordingPrivacy
    noise_multiplier: float
    receipts: PaysForSteps
    noise: NoiseSource

    def lots(self, recordings: Sequence[_Item], *, passes: int, place: tuple[str, ...]) -> Iterator[Sequence[_Item]]:
        """For each step of these passes the recordings that are drawn, none or all of them perhaps.

        Args:
            recordings: the client's.
            passes: how often each is to be drawn on average.
            place: names this training among others of a seeded simulation.
        """
        for step in range(passes * self.options.steps_a_pass):
            chances = self.noise.stream("lot", *place, step).uniform(len(recordings))
            drawn = (chances < self.options.rate).tolist()
            yield [recording for recording, taken in zip(recordings, drawn, strict=True) if taken]

    def mean(
        self,
        gradients: Iterable[torch.Tensor],
        layout: ParameterLayout,
        *,
        client: str,
        lot: int,
        place: tuple[str | int, ...],
    ) -> torch.Tensor:
        """``(sum of clipped gradients + noise) / lot``: all that training sees of a step's recordings.

        Args:
            gradients: of each drawn recording by itself, float32 [layout.size]; what is not finite counts as zero.
            layout: of what is trained.
            client: whose recordings.
            lot: the divisor, a constant.
            place: names this step among others of a seeded simulation.

        Returns:
            float32 [layout.size]

        Raises:
            BudgetExhausted: the budget does not cover the step.
        """
        plan = self.options.plan(layout, noise_multiplier=self.noise_multiplier, lot=lot)
        total = plan.empty_sum()
        for gradient in gradients:
            total.add(plan.clip(Update(gradient)))
        receipt = self.receipts.receipt(client)
        return plan.release(total, receipt=receipt, noise=self.noise, place=place).values
