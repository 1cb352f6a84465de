"""Everything that a guarantee depends on, in one frozen value, and the only door to the outside.

``clip`` bounds what one client contributes, ``ClippedSum`` adds up, ``release`` adds noise and divides by the expected
cohort. A release needs a receipt, and only the ledger makes receipts, so that nothing leaves unpaid.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from sordino._check import at_least, one_of, positive
from sordino._faults import fault_point
from sordino.errors import ConfigError, PrivacyError
from sordino.layout import Group, ParameterLayout
from sordino.privacy.allocations import Allocation, AllocationState, ClipBounds, ReleasedNorms
from sordino.privacy.allocations.flat import Flat
from sordino.privacy.bounding import Bounding, Parcel
from sordino.privacy.clipping import Clipper, Rule, block_norms
from sordino.privacy.cohort import CohortSampler
from sordino.privacy.events import Event, GaussianEvent, GaussianRelease
from sordino.privacy.indicators import indicator_std, rates, update_multiplier
from sordino.privacy.joint import client_event
from sordino.privacy.ledger import Receipt
from sordino.privacy.local_noise import Noising
from sordino.privacy.noise import NoiseSource, Stream
from sordino.privacy.noise_shapes import NOISE_SHAPES, NoiseShape
from sordino.privacy.shares import NoiseShares
from sordino.privacy.sharing import Sharing
from sordino.privacy.steps import Phase, Step
from sordino.privacy.sums import NoisyMean, RunningSum, add_noise
from sordino.privacy.tracking import Tracking
from sordino.privacy.updates import ClippedSum, ClippedUpdate, Released, Update

__all__ = ["Learned", "Mechanism", "Plan", "PrivacyPlan"]


@dataclass(frozen=True, slots=True)
class Learned:
    """What a plan has learned from past releases. Goes into the checkpoint.

    Attributes:
        allocation: the state of the allocation.
        clip_norm: C as tracked so far; None where it is fixed.
        phases: of a round in several phases, what the plan of each has learned.
    """

    allocation: AllocationState = field(default_factory=AllocationState)
    clip_norm: float | None = None
    phases: tuple[Learned, ...] = ()


class Mechanism(Protocol):
    """Whatever releases something: it can say what a release costs, and takes a receipt for it."""

    def event(self) -> Event:
        """What one release costs."""
        ...

    def release(
        self, total: ClippedSum, *, receipt: Receipt, noise: NoiseSource, place: Sequence[str | int]
    ) -> Released:
        """The released value."""
        ...


@dataclass(frozen=True)
class Plan(ABC):
    """What the private and the non-private plan share: layout, cohort, population and the divisor n = qK.

    Args:
        layout: the tensors of an update.
        cohort: how a round's clients are drawn.
        population: K, the declared number of clients: a public constant.
        watched: groups whose norms clients measure besides, for debug telemetry.
    """

    layout: ParameterLayout
    cohort: CohortSampler
    population: int
    watched: tuple[Group, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        at_least("privacy.population", self.population, 1)
        if not self.layout.size:
            raise ConfigError(
                "the model has no trainable tensor: expected adapters or a connector; train some part of it."
            )

    @property
    def expected_cohort(self) -> float:
        """The divisor n = qK, by which every sum is divided, however many clients came."""
        return self.cohort.expected(self.population)

    @abstractmethod
    def event(self) -> Event:
        """What one round costs."""

    @abstractmethod
    def client_event(self) -> Event:
        """What it costs instead if every client's upload leaves it by itself, see `noising`."""

    @property
    @abstractmethod
    def noise_stds(self) -> tuple[float, ...]:
        """Standard deviation s_b of the noise on each coordinate of the sum, by block."""

    def missing_stds(self, answered: int) -> tuple[float, ...]:  # noqa: ARG002
        """Standard deviations of the noise that the server adds, by block: all of it unless parties bring shares."""
        return self.noise_stds

    def total_stds(self, answered: int) -> tuple[float, ...]:  # noqa: ARG002
        """Standard deviations of all noise on the sum together, by block."""
        return self.noise_stds

    def sharing(self, noise: NoiseSource) -> Sharing | None:  # noqa: ARG002
        """How each party of a round adds its share of the noise; None where the server adds all of it."""
        return None

    @property
    @abstractmethod
    def bounding(self) -> Bounding:
        """What clients get of the plan."""

    @property
    def clipper(self) -> Clipper:
        """The bounds of this round."""
        return self.bounding.clipper

    @property
    def indicator_aims(self) -> tuple[float, ...]:
        """The rate from which each clip indicator that clients add is counted, see `sordino.privacy.indicators`."""
        return self.bounding.aims

    def _noisy_rates(self, summed: npt.NDArray[np.float64], stream: Stream) -> Mapping[str, Any]:  # noqa: ARG002
        """Fields of `ReleasedNorms` that the indicators give."""
        return {}

    @property
    def reads_raw_norms(self) -> bool:
        """Whether `after` is given the clients' own norms instead of released ones: an unaccounted release."""
        return False

    def clip(self, update: Update) -> ClippedUpdate:
        """Bounds one client's update."""
        return self.bounding.clip(update)

    def receive(self, parcel: Parcel, *, clients: int = 1) -> ClippedUpdate:
        """Takes in an update that came over a wire, see `Bounding.receive`."""
        return self.bounding.receive(parcel, clients=clients)

    def empty_sum(self) -> ClippedSum:
        """A sum of no updates."""
        return self.bounding.empty_sum()

    def release(
        self,
        total: ClippedSum,
        *,
        receipt: Receipt,
        noise: NoiseSource,
        place: Sequence[str | int],
        answered: int = 0,
    ) -> Released:
        """``(sum + noise) / n``: the only way out.

        Args:
            total: sum of clipped updates; an empty one gives noise only. Used up.
            receipt: proof that the ledger holds this round's event.
            noise: where the noise comes from.
            place: names this release among others of a seeded simulation.
            answered: how many shares of the noise are in the sum, where parties add them.

        Raises:
            PrivacyError: a receipt for another event or used before, a sum under other bounds or released before.
        """
        if not isinstance(total, RunningSum) or total.clipper != self.clipper:
            raise PrivacyError(
                "the sum was clipped to other bounds or for another layout than the plan's; start it with this round's "
                "plan.empty_sum()."
            )
        receipt.spend(self.event(), seeded=noise.seeded)
        values, indicators = total.take()
        fault_point("release.before")
        stream = noise.stream("noise", *place)
        add_noise(values, self.clipper.bounds.blocks, self.missing_stds(answered), stream)
        n = self.expected_cohort
        mean = values.div_(n).float()
        norms = ReleasedNorms(
            norm_squared=tuple(norm**2 for norm in block_norms(mean, self.clipper.bounds.blocks)),
            noise_std=tuple(std / n for std in self.total_stds(answered)),
            size=tuple(block.size for block in self.clipper.bounds.blocks),
            **self._noisy_rates(indicators, stream),
        )
        fault_point("release.after")
        return NoisyMean(mean, norms)

    def noising(self, *, receipt: Receipt, noise: NoiseSource) -> Noising:
        """How each client noises what it sends: the way out where the server reads single uploads.

        Args:
            receipt: proof that the ledger holds `client_event`; that is charged before anybody is asked.
            noise: where clients in this process take their noise from.

        Raises:
            PrivacyError: a receipt for another event or used before.
        """
        receipt.spend(self.client_event(), seeded=noise.seeded)
        return Noising(self.clipper, self.noise_stds, noise)

    @property
    def steps(self) -> tuple[Step, ...]:
        """A round of one phase, in which the server adds up updates of the whole layout."""
        return (Step(Phase("train", self.layout), self),)

    def after(self, norms: ReleasedNorms) -> Self:  # noqa: ARG002
        """The plan for the next round."""
        return self

    def after_round(self, seen: Sequence[ReleasedNorms | None]) -> Self:
        """The plan for the next round, from what each phase showed; None where it showed nothing to learn from."""
        (norms,) = seen
        return self if norms is None else self.after(norms)

    @property
    def learned(self) -> Learned:
        """What the plan has learned from past rounds: with it, `resumed` takes up where a checkpoint was made."""
        return Learned()

    def resumed(self, learned: Learned) -> Self:  # noqa: ARG002
        """This plan, having learned that."""
        return self


@dataclass(frozen=True)
class PrivacyPlan(Plan):
    """Clipped sums with Gaussian noise.

    Formal guarantee: one round's release is ``event()``-private for adding or removing one client (Poisson), or replacing
    one (fixed size), whatever the allocation, the rule and the shape of the noise; T rounds compose in the ledger. What the
    plan learns comes from released values, so adapting it costs nothing beyond the event.

    Args:
        allocation: how C is divided over blocks.
        clip_norm: C, the L2 bound of one client's update.
        noise_multiplier: z, of everything that a round releases together.
        noise_shape: how the noise is spread over blocks, see `sordino.privacy.noise_shapes`.
        rule: what happens to an update that is too large, see `Clipper`.
        tracking: lets C follow the updates; None keeps it.
        shares: in how many shares the noise is made, see `sordino.privacy.shares`; None: the server adds it.
        state: what the allocation learned so far.

    Raises:
        ConfigError: C not positive; infinite with z > 0 (the noise would be infinite), tracking or ``normalise``;
            component-aware noise with a rule that does not keep each block within its bound.
    """

    allocation: Allocation = field(default_factory=Flat)
    clip_norm: float = 1.0
    noise_multiplier: float = 1.0
    noise_shape: NoiseShape = "isotropic"
    rule: Rule = "clip"
    tracking: Tracking | None = None
    shares: NoiseShares | None = None
    state: AllocationState = field(default_factory=AllocationState)

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("privacy.noise_multiplier", self.noise_multiplier, 0)
        one_of("privacy.noise_shape", self.noise_shape, NOISE_SHAPES)
        if math.isinf(self.clip_norm) and self.noise_multiplier > 0:
            raise ConfigError(
                f"privacy.clip_norm = inf with noise_multiplier = {self.noise_multiplier}: expected a finite clip norm, "
                'since the noise is a multiple of it; set one, or privacy.mechanism = "none".'
            )
        if self.clip_norm != math.inf:
            positive("privacy.clip_norm", self.clip_norm)
        elif self.rule == "normalise" or self.tracking is not None:
            raise ConfigError(
                'privacy.clip_norm = inf with rule = "normalise" or tracking: expected a finite clip norm; set one.'
            )
        if self.rule == "normalise" and self.noise_shape == "component-aware":
            raise ConfigError(
                'privacy.rule = "normalise" lets a block exceed its own bound, on which noise_shape = "component-aware" '
                'relies; set rule = "clip" or noise_shape = "isotropic".'
            )

    @cached_property
    def bounds(self) -> ClipBounds:
        """C_b for each block, in this round."""
        if math.isinf(self.clip_norm):
            blocks = self.allocation.blocks(self.layout)
            return ClipBounds(blocks, (math.inf,) * len(blocks))
        return self.allocation.bounds(self.layout, self.state, self.clip_norm)

    @cached_property
    def bounding(self) -> Bounding:
        """The bounds of this round, with one indicator a block if the allocation reads clip rates, one if C is tracked."""
        clipper = Clipper(self.bounds, self.layout.size, self.layout.digest, self.rule, self.watched)
        aims = (self.allocation.aimed_clip_rate,) * (len(self.bounds.blocks) * self.allocation.reads_clip_rates)
        return Bounding(clipper, aims, 1 - self.tracking.quantile if self.tracking is not None else None)

    @cached_property
    def noise_stds(self) -> tuple[float, ...]:
        """By the noise's shape; 0 for a block whose bound is 0, whose sum is the constant 0; 0 when z = 0."""
        if self.noise_multiplier == 0:
            return (0.0,) * len(self.bounds.norms)
        multiplier = update_multiplier(self.noise_multiplier, count=len(self.indicator_aims))
        return NOISE_SHAPES[self.noise_shape](self.bounds, multiplier)

    def missing_stds(self, answered: int) -> tuple[float, ...]:
        """Less what the parties that answered have brought."""
        return self.noise_stds if self.shares is None else self.shares.missing(self.noise_stds, answered=answered)

    def total_stds(self, answered: int) -> tuple[float, ...]:
        """Where it is made in shares, a little more than the plan asks for."""
        return self.noise_stds if self.shares is None else self.shares.total(self.noise_stds, answered=answered)

    def sharing(self, noise: NoiseSource) -> Sharing | None:
        """One party's share; None where the server adds all of it.

        Raises:
            ConfigError: it is not fixed how many parties there are, or they are not as many as the shares.
        """
        if self.shares is None:
            return None
        self.shares.require(self.cohort.parties)
        return Sharing(self.bounding, self.shares.one(self.noise_stds), noise)

    def _noisy_rates(self, summed: npt.NDArray[np.float64], stream: Stream) -> Mapping[str, Any]:
        aims = self.indicator_aims
        std = indicator_std(self.noise_multiplier, aims=aims)
        noisy = rates(summed + std * stream.normal(len(summed)), aims=aims, expected_cohort=self.expected_cohort)
        of_blocks = noisy[:-1] if self.tracking else noisy
        return {"clip_rate": tuple(of_blocks), "over_rate": noisy[-1] if self.tracking else None}

    def event(self) -> GaussianEvent:
        """The cohort's event with z."""
        return self.cohort.event(self.noise_multiplier, population=self.population)

    def client_event(self) -> GaussianRelease:
        """A Gaussian of multiplier z / 2: replacing one client's recordings moves its upload by up to 2 C."""
        return client_event(self.noise_multiplier)

    @property
    def reads_raw_norms(self) -> bool:
        """Whether the allocation reads unnoised client norms."""
        return self.allocation.reads_raw_norms

    def after(self, norms: ReleasedNorms) -> Self:
        """The plan whose allocation and clip norm have seen the release."""
        clip_norm = None
        if self.tracking is not None and norms.over_rate is not None:
            clip_norm = self.tracking.follow(self.clip_norm, over_rate=norms.over_rate)
        return self.resumed(Learned(self.allocation.observe(self.state, norms), clip_norm))

    @property
    def learned(self) -> Learned:
        """The allocation's state, and C if it is tracked."""
        return Learned(self.state, self.clip_norm if self.tracking is not None else None)

    def resumed(self, learned: Learned) -> Self:
        """The same plan, having learned that."""
        return replace(self, state=learned.allocation, clip_norm=learned.clip_norm or self.clip_norm)

    def effective_multipliers(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """z_eff by component and by pool: ``(sum_b C_b**2 / s_b**2)**(-1/2)`` over the blocks that touch it.

        Under isotropic noise that is ``z / sqrt(share)``; under ``normalise``, which bounds only the whole, z. It would be
        the noise multiplier against somebody who sees this part of the updates alone, if everything else that the person
        sent were public; it is no guarantee.
        """
        blocks = self.bounds.blocks
        components = {
            name: tuple(index for index, block in enumerate(blocks) if name in block.components)
            for name in self.layout.components
        }
        pools = self.allocation.pools(self.layout)
        return (
            {name: self._multiplier(indices) for name, indices in components.items()},
            {name: self._multiplier(indices) for name, indices in pools.items()},
        )

    def _multiplier(self, indices: Sequence[int]) -> float:
        pairs = [(self.bounds.norms[index], self.noise_stds[index]) for index in indices]
        if self.rule == "normalise" and any(norm > 0 for norm, _ in pairs):
            return max(std for _, std in pairs) / self.bounds.total
        if any(std == 0 < norm for norm, std in pairs):
            return 0.0
        signal = math.fsum((norm / std) ** 2 for norm, std in pairs if norm > 0)
        return signal**-0.5 if signal > 0 else math.inf
