"""What clients get of a plan: how an update is bounded before it leaves, and how it is taken in where it arrives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from sordino.errors import PrivacyError
from sordino.privacy.clipping import Clipped, Clipper
from sordino.privacy.sums import BoundedUpdate, RunningSum
from sordino.privacy.updates import ClippedSum, ClippedUpdate, Update

__all__ = ["Bounding", "Measured", "Parcel"]


@dataclass(frozen=True, slots=True)
class Measured:
    """What clipping saw of an update, which the clipped one does not show any more. Outside every guarantee.

    Attributes:
        norms: the blocks' norms before.
        watched_norms: the watched groups' norms before.
        finite: False when the update held NaN or infinity and counts as zero.
    """

    norms: tuple[float, ...]
    watched_norms: tuple[float, ...]
    finite: bool


@dataclass(frozen=True, slots=True, repr=False)
class Parcel:
    """A bounded update, or a sum of them, as plain numbers on their way; whoever gets it trusts none of them.

    Attributes:
        values: float32 [size].
        digest: fingerprint of the layout that it is for.
        indicators: the clip indicators, less the rates that they are counted from (`sordino.privacy.indicators`). A clipped
            update does not show any more what was clipped, and a clip norm that read it off there would shrink for ever.
        measured: for debug telemetry and ``ema_source = "raw"`` only, of one client only; None otherwise.
    """

    values: torch.Tensor
    digest: str
    indicators: tuple[float, ...] = ()
    measured: Measured | None = None

    def __repr__(self) -> str:
        return f"Parcel({self.values.numel()} values, not shown)"


@dataclass(frozen=True, slots=True)
class Bounding:
    """How an update is bounded in one round.

    Formal guarantee: what `clip` gives, or `receive` for one client, has an L2 norm of at most C, and indicators that lie
    where the noise on them is made for. What `receive` gives for a site of m clients is bounded by m times that, and that
    each single client's part is bounded is trusted to the site.

    | parcel | ``receive`` |
    |---|---|
    | within the bound | unchanged |
    | too large | clipped to the bound |
    | NaN or infinite | all zero, its indicators too |
    | indicators out of their range | moved to its nearer end |
    | another layout, shape, type or number of indicators | `PrivacyError` |

    Args:
        clipper: block bounds and rule.
        block_aims: for each block the rate from which its indicator is counted; empty unless the allocation reads them.
        whole_aim: likewise of the whole update; None unless C is tracked.
    """

    clipper: Clipper
    block_aims: tuple[float, ...] = ()
    whole_aim: float | None = None

    @property
    def aims(self) -> tuple[float, ...]:
        """The rate from which each indicator is counted."""
        return (*self.block_aims, *(() if self.whole_aim is None else (self.whole_aim,)))

    def clip(self, update: Update) -> ClippedUpdate:
        """Bounds one client's update, where it was made."""
        clipped = self.clipper.clip(update.values)
        counted = np.array(self._indicators(clipped), bool) - np.array(self.aims, np.float64)
        return BoundedUpdate(clipped, clipper=self.clipper, indicators=counted)

    def empty_sum(self) -> ClippedSum:
        """A sum of no updates."""
        return RunningSum(self.clipper, num_indicators=len(self.aims))

    def pack(self, update: ClippedUpdate | ClippedSum, *, measured: bool = False) -> Parcel:
        """What leaves the client, or a site with several.

        Args:
            update: bounded by this; a sum is used up.
            measured: add what clipping saw of it.

        Raises:
            PrivacyError: bounded by something else, or already released.
        """
        if isinstance(update, RunningSum) and update.clipper == self.clipper:
            values, indicators = update.take()
            return Parcel(values.float(), self.clipper.digest, tuple(indicators.tolist()))
        if isinstance(update, BoundedUpdate) and update.clipper == self.clipper:
            seen = Measured(update.norms, update.watched_norms, update.finite) if measured else None
            return Parcel(update.values, self.clipper.digest, tuple(update.indicators.tolist()), seen)
        raise PrivacyError(
            "an update clipped to other bounds or for another layout was packed; clip it for this round."
        )

    def receive(self, parcel: Parcel, *, clients: int = 1) -> ClippedUpdate:
        """Takes in what came over a wire: checks what it belongs to and clips it again.

        Args:
            parcel: what came.
            clients: m, how many clients' updates it may be the sum of.

        Raises:
            PrivacyError: another layout or shape, or another number of indicators or norms than asked for.
        """
        if parcel.digest != self.clipper.digest:
            raise PrivacyError(
                f"an update for layout {parcel.digest} arrived: expected {self.clipper.digest}; give client and server the "
                "same model and adapter settings."
            )
        if len(parcel.indicators) != len(self.aims):
            raise PrivacyError(
                f"an update with {len(parcel.indicators)} clip indicators arrived: expected {len(self.aims)}; give "
                "client and server the same [privacy] settings."
            )
        clipped = self._clipper_of(clients).clip(parcel.values)
        counted = np.array(parcel.indicators, np.float64)
        aims = np.array(self.aims, np.float64)
        if not clipped.finite or not np.isfinite(counted).all():
            clipped = replace(clipped, values=torch.zeros_like(clipped.values), finite=False)
            counted = np.zeros_like(aims)
        counted = np.clip(counted, -clients * aims, clients * (1 - aims))
        return BoundedUpdate(self._as_seen(clipped, parcel.measured), clipper=self.clipper, indicators=counted)

    def _indicators(self, clipped: Clipped) -> Sequence[bool]:
        bounds = self.clipper.bounds
        of_blocks = [norm > bound for norm, bound in zip(clipped.norms, bounds.norms, strict=True)]
        whole = self.clipper.joint_norm(clipped.norms) > bounds.total
        return [*(of_blocks if self.block_aims else ()), *([] if self.whole_aim is None else [whole])]

    def _clipper_of(self, clients: int) -> Clipper:
        if clients == 1:
            return self.clipper
        bounds = self.clipper.bounds
        return replace(self.clipper, bounds=replace(bounds, norms=tuple(clients * norm for norm in bounds.norms)))

    def _as_seen(self, clipped: Clipped, measured: Measured | None) -> Clipped:
        if measured is None:
            return clipped
        numbers = (*measured.norms, *measured.watched_norms)
        expected = (len(self.clipper.bounds.norms), len(self.clipper.watched))
        if (len(measured.norms), len(measured.watched_norms)) != expected or not all(
            math.isfinite(number) and number >= 0 for number in numbers
        ):
            raise PrivacyError(
                f"an update with {len(measured.norms)} block norms and {len(measured.watched_norms)} others arrived: "
                f"expected {expected[0]} and {expected[1]}, all finite; give client and server the same settings."
            )
        finite = clipped.finite and measured.finite
        return replace(clipped, norms=measured.norms, watched_norms=measured.watched_norms, finite=finite)
