"""The concrete kinds of update behind the abstract ones of `sordino.privacy.updates`. Only plans make them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from sordino.errors import PrivacyError
from sordino.layout import Group
from sordino.privacy.allocations import ReleasedNorms
from sordino.privacy.clipping import Clipped, Clipper, block_norms
from sordino.privacy.noise import Stream
from sordino.privacy.updates import ClippedSum, ClippedUpdate, Released

__all__ = ["BoundedUpdate", "NoisyMean", "RunningSum", "add_noise", "noised"]


class BoundedUpdate(ClippedUpdate):
    """One client's clipped update and its indicators, less what they are counted from."""

    __slots__ = ("clipper", "finite", "indicators", "norms", "values", "watched_norms")

    def __init__(self, clipped: Clipped, *, clipper: Clipper, indicators: npt.NDArray[np.float64]) -> None:
        self.values, self.norms, self.watched_norms = clipped.values, clipped.norms, clipped.watched_norms
        self.finite, self.clipper, self.indicators = clipped.finite, clipper, indicators


class RunningSum(ClippedSum):
    """Knows the clipper of its round: an update under other bounds could outweigh C, or reach a block without noise."""

    __slots__ = ("_indicators", "_released", "_values", "clipper")

    def __init__(self, clipper: Clipper, *, num_indicators: int) -> None:
        self._values = torch.zeros(clipper.size, dtype=torch.float64)
        self._indicators = np.zeros(num_indicators)
        self.clipper, self._released = clipper, False

    def add(self, update: ClippedUpdate) -> None:
        self._refuse_released()
        if not isinstance(update, BoundedUpdate) or update.clipper != self.clipper:
            raise PrivacyError(
                "an update clipped to other bounds or for another layout was added to the sum; clip it with the plan of "
                "this round."
            )
        np.add(
            self._values.numpy(), update.values.numpy(), out=self._values.numpy()
        )  # torch's add_ copies to float64 first
        self._indicators += update.indicators

    def take(self) -> tuple[torch.Tensor, npt.NDArray[np.float64]]:
        """The sum itself and that of the indicators, once."""
        self._refuse_released()
        self._released = True
        values, self._values = self._values, torch.empty(0)  # whoever still holds this sum holds no memory with it
        return values, self._indicators

    def _refuse_released(self) -> None:
        if self._released:
            raise PrivacyError("this sum was released already; start another with plan.empty_sum().")


class NoisyMean(Released):
    """The released mean."""

    __slots__ = ("_values", "norms")

    def __init__(self, values: torch.Tensor, norms: ReleasedNorms) -> None:
        self._values, self.norms = values, norms

    @property
    def values(self) -> torch.Tensor:
        return self._values


def add_noise(values: torch.Tensor, blocks: Sequence[Group], stds: Sequence[float], stream: Stream) -> None:
    """Adds noise of its own standard deviation to each block, in the order of the blocks.

    Shape:
        values: float64 [size], changed in place
    """
    for block, std in zip(blocks, stds, strict=True):
        for start, stop in block.slices if std > 0 else ():
            for part in values[start:stop].split(1 << 20):  # bounds the temporaries
                part.add_(torch.from_numpy(stream.normal(len(part))), alpha=std)


def noised(values: torch.Tensor, blocks: Sequence[Group], stds: Sequence[float]) -> NoisyMean:
    """Values that have their noise, as something released.

    Shape:
        values: float32 [size]
    """
    norms = ReleasedNorms(
        norm_squared=tuple(norm**2 for norm in block_norms(values, blocks)),
        noise_std=tuple(stds),
        size=tuple(block.size for block in blocks),
    )
    return NoisyMean(values, norms)
