"""Personal parts blended by how alike the clients' updates are, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from sordino._check import fraction
from sordino.config import option
from sordino.federated.methods.base import METHODS, ServerState
from sordino.federated.methods.two_part import TwoPart
from sordino.federated.similarity import Matrix, blend, cosines

__all__ = ["ParameterSimilarity"]


@METHODS.register("parameter-similarity")
@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSimilarity(TwoPart):
    """Each speaker's part is blended from everybody's by how alike their updates are, layer by layer.

    ``W_ij,l = softmax_j(cos(u_i,l, u_j,l) / tau)``, u being what a client's training changed in layer l. It looks at
    single updates, so it is private only where clients add the noise themselves; its controls, which look at none, are
    not bound to that.

    Source: arXiv 2606.13253, with beta = 0.8 on UASpeech and 0.6 on TORGO.
    """

    beta: float = option("How much of the blend similarity decides; 0 is an equal mean.", 0.8)

    def __post_init__(self) -> None:
        TwoPart.__post_init__(self)
        fraction("federated.method.beta", self.beta, zero=True, one=True)

    @property
    def embeds(self) -> bool:
        """Never."""
        return False

    @property
    def compares_updates(self) -> bool:
        """Unless a control takes similarity's place."""
        return self.weights == "similarity"

    def blending(self, state: ServerState, clients: Sequence[str], updates: torch.Tensor | None) -> Matrix:
        """``m ((1 - beta) / m + beta W)`` of one layer."""
        alike = None if updates is None else cosines(updates.numpy(), centred=self.centred)
        return blend((self.beta, self.among(state, clients, alike)))
