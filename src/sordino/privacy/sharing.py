"""One party's share of the noise, added where its update is bounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from sordino.errors import PrivacyError
from sordino.privacy.bounding import Bounding, Parcel
from sordino.privacy.clipping import Clipped
from sordino.privacy.noise import NoiseSource
from sordino.privacy.sums import BoundedUpdate, add_noise
from sordino.privacy.updates import ClippedUpdate

__all__ = ["Sharing"]


@dataclass(frozen=True, slots=True)
class Sharing:
    """How a party adds its share, see `sordino.privacy.shares`. What carries a share is still for a sum alone to read.

    Args:
        bounding: the bounds of the round.
        stds: standard deviation of the share on each coordinate, by block.
        noise: where it comes from; a party elsewhere takes its own.
    """

    bounding: Bounding
    stds: tuple[float, ...]
    noise: NoiseSource

    def release(self, update: ClippedUpdate, *, place: tuple[str | int, ...]) -> ClippedUpdate:
        """The update with the share on it.

        Args:
            update: clipped under the same bounds.
            place: names this share among others of a seeded simulation.

        Raises:
            PrivacyError: clipped to other bounds or for another layout.
        """
        if not isinstance(update, BoundedUpdate) or update.clipper != self.bounding.clipper:
            raise PrivacyError(
                "a share of noise was to go on an update clipped to other bounds or for another layout; clip it with the "
                "plan of this round."
            )
        values = update.values.double()
        add_noise(values, self.bounding.clipper.bounds.blocks, self.stds, self.noise.stream("share", *place))
        shared = Clipped(values.float(), update.norms, update.watched_norms, update.finite)
        return BoundedUpdate(shared, clipper=update.clipper, indicators=update.indicators)

    def alone(self, *, place: tuple[str | int, ...]) -> ClippedUpdate:
        """The share by itself, for a party that adds up several clients first."""
        return self.release(self._of(torch.zeros(self.bounding.clipper.size)), place=place)

    def receive(self, parcel: Parcel) -> ClippedUpdate:
        """Takes in what came over a wire. It cannot be clipped again, since its noise is longer than any bound.

        Raises:
            PrivacyError: another layout or shape, or NaN or infinity: the party is a drop-out, and its share is missing.
        """
        clipper = self.bounding.clipper
        if parcel.digest != clipper.digest or parcel.values.shape != (clipper.size,):
            raise PrivacyError(
                f"an update of {parcel.values.numel()} values for layout {parcel.digest} arrived: expected {clipper.size} "
                f"for {clipper.digest}; give client and server the same model and settings."
            )
        if not bool(torch.isfinite(parcel.values).all()):
            raise PrivacyError(
                "an update with NaN or infinity arrived, and brings no share of the noise; look for a fault there."
            )
        return self._of(parcel.values)

    def _of(self, values: torch.Tensor) -> BoundedUpdate:
        clipper = self.bounding.clipper
        plain = Clipped(values, (0.0,) * len(clipper.bounds.norms), (0.0,) * len(clipper.watched), finite=True)
        return BoundedUpdate(plain, clipper=clipper, indicators=np.zeros(len(self.bounding.aims)))
