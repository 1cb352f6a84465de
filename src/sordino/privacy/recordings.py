"""A guarantee for single recordings: a client's own training adds noise to every step, whatever then becomes of the model.

Formal guarantee. A client trains on its recordings in steps. In each, every one of its recordings is drawn with probability
q; the drawn ones' gradients, each clipped to C, are added up, and so is Gaussian noise of standard deviation z C. Whatever
depends on these recordings through the steps alone, such as updates, personal models and everything made of them, is
``steps`` Poisson-sampled Gaussian mechanisms for adding or leaving out one recording of one client, everybody else's and
the client's other ones being anything.

| what | covered |
|---|---|
| updates, each client's by itself, and all personal models | yes: they are made of noised steps |
| another client's recordings | each is in one client's steps only, so that steps side by side cost as much as one |
| a whole speaker | no: that is all of the speaker's recordings at once |
| embeddings and counts of recordings | no: a method that asks for them is refused |
| which of a client's recordings are trained on | decided before: the bound is about those that are |
| what is found out about how many recordings there are | nothing is made of it: steps, noise and divisor are constants |
| the mean loss of a client's training | not told |
| how many recordings were drawn, and how long that took | no: whoever tells it says so in a caveat |

Source: Abadi et al., Deep Learning with Differential Privacy, 2016, at each client.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sordino._check import fraction, positive
from sordino.config import option
from sordino.errors import ConfigError
from sordino.privacy.cohort import Poisson

if TYPE_CHECKING:
    from sordino.layout import ParameterLayout
    from sordino.privacy.events import GaussianEvent
    from sordino.privacy.ledger import Terms
    from sordino.privacy.plan import PrivacyPlan

__all__ = ["RecordingPrivacy"]

_NUMBER: Final = "how many recordings there are, which the ledger names"
_WHOLE_SPEAKER: Final = (
    "a speaker as a whole, and so what all of a speaker's recordings have in common, such as the voice: it is single "
    "recordings that are hidden"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingPrivacy:
    """Every client trains in steps whose gradients are clipped by recording and noised at the client (DP-SGD)."""

    epsilon: float | None = option("Budget of each method by itself; alone it decides z.", None)
    noise_multiplier: float | None = option(
        "z: the noise of a step has standard deviation z C. Unset: from epsilon.", None
    )
    delta: float = option("Probability that the bound fails.", 1e-5)
    clip_norm: float = option("C: the L2 norm that one recording's gradient is clipped to.", 1.0)
    rate: float = option(
        "q: probability that a recording takes part in a step; a pass is 1 / q steps, rounded up.", 0.25
    )

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.noise_multiplier is None):
            raise ConfigError(
                f"recording_privacy.epsilon = {self.epsilon} with noise_multiplier = {self.noise_multiplier}: expected one "
                "of them; set a target such as recording_privacy.epsilon = 8, or the noise."
            )
        if self.epsilon is not None:
            positive("recording_privacy.epsilon", self.epsilon)
        if self.noise_multiplier is not None:
            positive("recording_privacy.noise_multiplier", self.noise_multiplier)
        fraction("recording_privacy.delta", self.delta)
        positive("recording_privacy.clip_norm", self.clip_norm)
        fraction("recording_privacy.rate", self.rate, one=True)

    @property
    def steps_a_pass(self) -> int:
        """After so many steps a recording was drawn once on average, or a little oftener."""
        return math.ceil(1 / self.rate)

    def terms(self, *, recordings: int, seeded: bool, caveats: Sequence[str] = ()) -> Terms:
        """What the guarantee is about.

        Args:
            recordings: how many there are to train on, of all clients together.
            seeded: whether draws and noise come from the seed.
            caveats: releases outside the guarantee, in words.

        Raises:
            ConfigError: a delta that permits revealing a recording entirely.
        """
        from sordino.privacy.ledger import Terms

        if self.delta * recordings >= 1:
            raise ConfigError(
                f"recording_privacy.delta = {self.delta:g} is not below 1 / {recordings}, one over the recordings: such a "
                "delta permits revealing one of them entirely; lower it."
            )
        return Terms(
            unit="recording",
            population=recordings,
            clients_per_speaker=1,
            delta=self.delta,
            budget=self.epsilon,
            seeded=seeded,
            caveats=(*caveats, _NUMBER, _WHOLE_SPEAKER),
        )

    def event(self, noise_multiplier: float) -> GaussianEvent:
        """What one step costs."""
        return Poisson(rate=self.rate).event(noise_multiplier, population=1)

    def multiplier(self, *, steps: int) -> float:
        """Z: the one given, or the least that keeps so many steps within the budget."""
        from sordino.privacy.calibration import noise_multiplier_for

        if self.noise_multiplier is not None:
            return self.noise_multiplier
        assert self.epsilon is not None  # noqa: S101 - the options refuse a table with neither
        return noise_multiplier_for(self.epsilon, event=self.event, rounds=steps, delta=self.delta)

    def plan(self, layout: ParameterLayout, *, noise_multiplier: float, lot: int) -> PrivacyPlan:
        """The guarantee of one step.

        Args:
            layout: what is trained.
            noise_multiplier: z.
            lot: by about so much every noised sum is divided: a constant, however many were drawn.
        """
        from sordino.privacy.allocations.flat import Flat
        from sordino.privacy.plan import PrivacyPlan

        return PrivacyPlan(
            layout,
            Poisson(rate=self.rate),
            max(1, round(lot / self.rate)),
            allocation=Flat(),
            clip_norm=self.clip_norm,
            noise_multiplier=noise_multiplier,
        )
