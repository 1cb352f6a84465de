"""Personal parts blended by how alike the clients sound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from sordino._check import fraction
from sordino.config import option
from sordino.federated.methods.base import METHODS, ServerState
from sordino.federated.methods.two_part import TwoPart
from sordino.federated.similarity import Matrix, blend
from sordino.layout import ParameterLayout

__all__ = ["EmbeddingSimilarity"]


@METHODS.register("embedding-similarity")
@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSimilarity(TwoPart):
    """Each speaker's part is blended from everybody's by how alike they sound.

    ``W_ij = softmax_j(cos(e_i, e_j) / tau)``, e being a client's mean embedding under the newest shared part. Clients
    clip and noise their embeddings, which are charged. What is made of those costs nothing more, so the personal parts
    can be mixed behind the server's noise (`sordino.privacy.mixing`). But embeddings leave the clients one by one, and
    show who takes part: a round that asks for them is charged without what a random cohort would earn.

    Source: arXiv 2606.13253, with beta = 0.8 on UASpeech and 0.6 on TORGO.
    """

    beta: float = option("How much of the blend similarity decides; 0 is an equal mean.", 0.8)

    def __post_init__(self) -> None:
        TwoPart.__post_init__(self)
        fraction("federated.method.beta", self.beta, zero=True, one=True)

    @property
    def embeds(self) -> bool:
        """Unless a control takes similarity's place."""
        return self.weights == "similarity"

    @property
    def compares_updates(self) -> bool:
        """Never."""
        return False

    def blending(self, state: ServerState, clients: Sequence[str], updates: torch.Tensor | None) -> Matrix:  # noqa: ARG002
        """``m ((1 - beta) / m + beta W)``, the same for all layers."""
        return blend((self.beta, self.among(state, clients, self.between_embeddings(state, clients))))

    def cold_start(self, state: ServerState, embedding: torch.Tensor, layout: ParameterLayout) -> torch.Tensor:
        """The shared part with ``sum_j softmax_j(cos(e, e_j) / tau) theta_j`` over the clients there are."""
        return self.welcome(state, embedding, layout)
