"""A sum of its own for every client: ``Y_i = (sum_j a_ij u_j + noise) / n`` from the same clipped updates u_j.

Formal guarantee. Let the weights a be fixed before the updates are looked at: independent of the data, or made of values
that were released and charged before. Then all outputs together are one Gaussian mechanism of the plan's multiplier z, for
one client's recordings added or left out (its place among those who are given a model is public).

*Proof.* Without client j's update, Y_i n moves by ``a_ij u_j``. Block b of u_j has a norm of at most C_b, and every output's
noise on that block a standard deviation of ``A s_b``, where ``A = max_j ||a_.j||`` is the largest norm of a *column*. With
each coordinate divided by its standard deviation the stacked outputs move by at most
``sqrt(sum_b sum_i a_ij**2 C_b**2 / (A**2 s_b**2)) <= sqrt(sum_b C_b**2 / s_b**2) = 1 / z``. For isotropic noise that is the
sensitivity ``C max_j ||a_.j||`` against noise of z times that. Where recordings are replaced it is twice as much.

| weights | noise on each output, in standard deviations z C of a plain sum |
|---|---|
| the identity: everybody for himself | 1, and so n times that of a mean |
| all 1: the same mean for everybody | sqrt(m), since m noisy copies can be averaged |
| a column of zeros: a client whom nobody listens to | nothing on its account |

What the outputs reveal *together* is what is bounded, so clients who compare their models, or a server that hands out all of
them, learn no more than that. Each output by itself, without the others, shows less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from sordino.errors import PrivacyError
from sordino.privacy.ledger import Receipt
from sordino.privacy.noise import NoiseSource
from sordino.privacy.plan import Plan
from sordino.privacy.sums import BoundedUpdate, add_noise, noised
from sordino.privacy.updates import ClippedUpdate, Released

__all__ = ["MixedSum", "Mixing"]


@dataclass(frozen=True)
class Mixing:
    """Who is given how much of whose update.

    Args:
        clients: everybody who is given an output, in the order of rows and columns.
        weights: a_ij, the weight of client j's update in client i's output, float64 [clients, clients]; where it is 1
            everywhere, every output is the plain mean.

    Raises:
        PrivacyError: another shape, or weights that are not finite.
    """

    clients: tuple[str, ...]
    weights: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        m = len(self.clients)
        if self.weights.shape != (m, m) or not np.isfinite(self.weights).all():
            raise PrivacyError(
                f"mixing weights of shape {self.weights.shape} for {m} clients: expected {m} x {m} finite numbers; correct "
                "the method's weights."
            )

    @property
    def sensitivity(self) -> float:
        """``max_j ||a_.j||``: how far one client of norm 1 moves all outputs together."""
        return float(np.linalg.norm(self.weights, axis=0).max(initial=0.0))

    @cached_property
    def column(self) -> Mapping[str, npt.NDArray[np.float64]]:
        """Each client's weight in every output."""
        return {client: self.weights[:, index] for index, client in enumerate(self.clients)}

    def of_released(self, uploads: Mapping[str, Released], plan: Plan) -> Mapping[str, Released]:
        """The outputs where every update was released by itself, noise and all: plain arithmetic that costs nothing more."""
        rows, n = np.zeros((len(self.clients), plan.clipper.size)), plan.expected_cohort
        for client, upload in uploads.items():
            self.add(rows, client, upload.values)
        heard = np.sqrt(np.sum([self.column[client] ** 2 for client in uploads] or [0 * rows[:, 0]], axis=0))
        return {
            client: noised(
                torch.from_numpy(row / n).float(), plan.clipper.bounds.blocks, [h * std / n for std in plan.noise_stds]
            )
            for client, row, h in zip(self.clients, rows, heard, strict=True)
        }

    def add(self, rows: npt.NDArray[np.float64], client: str, values: torch.Tensor) -> None:
        """Adds ``a_ij u_j`` to every row i; where all weights are 1, each row is the plain sum to the bit."""
        wide = values.numpy().astype(np.float64)
        for index, weight in enumerate(self.column[client]):
            if weight:
                rows[index] += weight * wide


class MixedSum:
    """The weighted sums while they grow, in float64: as many vectors as there are outputs, however many updates come.

    Args:
        mixing: the weights.
        plan: of the phase; updates under other bounds are refused.
    """

    __slots__ = ("_mixing", "_plan", "_released", "_rows")

    def __init__(self, mixing: Mixing, plan: Plan) -> None:
        self._mixing, self._plan, self._released = mixing, plan, False
        self._rows = np.zeros((len(mixing.clients), plan.clipper.size))

    def add(self, client: str, update: ClippedUpdate) -> None:
        """Adds one client's update to every output that listens to it."""
        if self._released:
            raise PrivacyError("this mixture was released already; start another for the next phase.")
        if not isinstance(update, BoundedUpdate) or update.clipper != self._plan.clipper:
            raise PrivacyError(
                "an update clipped to other bounds or for another layout was mixed; clip it with the plan of this phase."
            )
        self._mixing.add(self._rows, client, update.values)

    def release(self, *, receipt: Receipt, noise: NoiseSource, place: tuple[str | int, ...]) -> Mapping[str, Released]:
        """Every client's output, with noise of its own. Uses the sum up.

        Args:
            receipt: proof that the ledger holds the phase's event.
            noise: where the noise comes from.
            place: names this release among others of a seeded simulation.

        Raises:
            PrivacyError: a receipt for another event or used before.
        """
        receipt.spend(self._plan.event(), seeded=noise.seeded)
        rows, self._rows, self._released = self._rows, np.empty((0, 0)), True
        stds = [self._mixing.sensitivity * std for std in self._plan.noise_stds]
        blocks, n = self._plan.clipper.bounds.blocks, self._plan.expected_cohort
        released: dict[str, Released] = {}
        for client, row in zip(self._mixing.clients, rows, strict=True):
            values = torch.from_numpy(row)
            add_noise(values, blocks, stds, noise.stream("noise", *place, client))
            released[client] = noised(values.div_(n).float(), blocks, [std / n for std in stds])
        return released
