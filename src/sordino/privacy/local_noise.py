"""Noise that a client adds to its own clipped upload, which may then be looked at by anybody."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sordino.errors import PrivacyError
from sordino.privacy.bounding import Parcel
from sordino.privacy.clipping import Clipper
from sordino.privacy.noise import NoiseSource
from sordino.privacy.sums import BoundedUpdate, add_noise, noised
from sordino.privacy.updates import ClippedUpdate, Released

__all__ = ["Noising"]


@dataclass(frozen=True, slots=True)
class Noising:
    """How one phase's uploads are noised where they are made. A plan makes it for a receipt; a site of what it is told.

    Formal guarantee: an upload is ``Plan.client_event``-private when one client's recordings are replaced by any others,
    towards everybody who sees it, the server included. Nothing hides that a client answered.

    Args:
        clipper: the bounds that the noise is made for.
        stds: standard deviation on each coordinate, by block.
        noise: where the noise comes from; a client elsewhere takes its own.
    """

    clipper: Clipper
    stds: tuple[float, ...]
    noise: NoiseSource

    def release(self, update: ClippedUpdate, *, place: tuple[str | int, ...]) -> Released:
        """The update with noise.

        Args:
            update: clipped under the same bounds.
            place: names this upload among others of a seeded simulation.

        Raises:
            PrivacyError: clipped to other bounds or for another layout.
        """
        if not isinstance(update, BoundedUpdate) or update.clipper != self.clipper:
            raise PrivacyError(
                "an update clipped to other bounds or for another layout was to be noised; clip it with the plan of this "
                "phase."
            )
        values = update.values.double()
        add_noise(values, self.clipper.bounds.blocks, self.stds, self.noise.stream("noise", *place))
        return noised(values.float(), self.clipper.bounds.blocks, self.stds)

    def pack(self, released: Released) -> Parcel:
        """A noised upload on its way."""
        return Parcel(released.values, self.clipper.digest)

    def receive(self, parcel: Parcel) -> Released:
        """Takes in a noised upload that came over a wire; one that holds NaN or infinity counts as zero.

        Raises:
            PrivacyError: another layout or shape.
        """
        if parcel.digest != self.clipper.digest or parcel.values.shape != (self.clipper.size,):
            raise PrivacyError(
                f"an upload of {parcel.values.numel()} values for layout {parcel.digest} arrived: expected "
                f"{self.clipper.size} for {self.clipper.digest}; give client and server the same model and settings."
            )
        finite = bool(torch.isfinite(parcel.values).all())
        values = parcel.values if finite else torch.zeros_like(parcel.values)
        return noised(values, self.clipper.bounds.blocks, self.stds)
