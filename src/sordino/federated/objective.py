"""What a client's training aims at besides its own loss, and which part of the model it may change."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sordino.federated.part import Part

__all__ = ["PLAIN", "Objective", "Proximal", "Reference"]


@dataclass(frozen=True, slots=True)
class Proximal:
    """The penalty ``mu / 2 ||theta - anchor||**2``, whose gradient is ``mu (theta - anchor)``.

    Attributes:
        mu: its strength.
        anchor: where the parameters are drawn to, float32 [layout.size].
        part: the parameters that it acts on; None for all.
    """

    mu: float
    anchor: torch.Tensor
    part: Part | None = None

    def add_gradient(self, values: torch.Tensor, *, into: torch.Tensor) -> None:
        """Adds its gradient at ``values``.

        Shape:
            values: float32 [layout.size]
            into: float32 [layout.size], changed in place
        """
        slices = ((0, len(values)),) if self.part is None else self.part.slices
        for start, stop in slices:
            drift = values[start:stop] - self.anchor[start:stop].to(values.device)
            into[start:stop].add_(drift, alpha=self.mu)


@dataclass(frozen=True, slots=True)
class Reference:
    """Penalties on how far a batch's embeddings and outputs drift from those of a model that stays as it is.

    Both are means over the batch's utterances:

    | field | penalty |
    |---|---|
    | ``embedding`` | ``weight ||e - e_ref||**2``, e the time-mean of the speaker-independent part's output |
    | ``output`` | ``weight KL(p_ref || p)``, p the output distributions, averaged over frames or tokens |

    Only a learner whose `Learner.penalties` names a penalty can be given it.

    Attributes:
        values: the model compared with, float32 [layout.size].
        embedding: weight of the embeddings' distance.
        output: weight of the outputs' divergence.
    """

    values: torch.Tensor
    embedding: float = 0.0
    output: float = 0.0

    @property
    def asked(self) -> tuple[str, ...]:
        """The penalties whose weight is not zero."""
        return tuple(name for name in ("embedding", "output") if getattr(self, name))


@dataclass(frozen=True, slots=True)
class Objective:
    """How one call of `Learner.fit` trains.

    Attributes:
        trained: the part that may change; None for everything. What is not trained keeps its bits, and its update is 0.
        proximal: penalties on the parameters.
        reference: penalties on embeddings and outputs.
        epochs: passes over the client's data in place of the learner's own number.
    """

    trained: Part | None = None
    proximal: tuple[Proximal, ...] = ()
    reference: Reference | None = None
    epochs: int | None = None


PLAIN = Objective()
"""The client's own loss, and everything trained."""
