"""Personal parts blended by how alike the clients' updates are, and by how alike they sound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from sordino._check import at_most, fraction
from sordino.config import option
from sordino.federated.methods.base import METHODS, ServerState
from sordino.federated.methods.two_part import TwoPart
from sordino.federated.similarity import Matrix, blend, cosines
from sordino.layout import ParameterLayout

__all__ = ["CombinedSimilarity"]


@METHODS.register("combined-similarity")
@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedSimilarity(TwoPart):
    """Each speaker's part is blended from everybody's by how alike their updates are and how alike they sound.

    ``w = (1 - b - c) / m + b W_parameters + c W_embeddings``. It looks at single updates, as `ParameterSimilarity` does.

    Source: arXiv 2606.13253, with b, c = 0.3, 0.5 on UASpeech and 0.3, 0.4 on TORGO.
    """

    parameter_weight: float = option("b: how much of the blend the updates' similarity decides.", 0.3)
    embedding_weight: float = option("c: how much of it the embeddings' similarity decides.", 0.5)

    def __post_init__(self) -> None:
        TwoPart.__post_init__(self)
        fraction("federated.method.parameter_weight", self.parameter_weight, zero=True, one=True)
        fraction("federated.method.embedding_weight", self.embedding_weight, zero=True, one=True)
        at_most(
            "federated.method.parameter_weight + embedding_weight", self.parameter_weight + self.embedding_weight, 1
        )

    @property
    def embeds(self) -> bool:
        """Unless a control takes similarity's place."""
        return self.weights == "similarity"

    @property
    def compares_updates(self) -> bool:
        """Likewise."""
        return self.weights == "similarity"

    def blending(self, state: ServerState, clients: Sequence[str], updates: torch.Tensor | None) -> Matrix:
        """``m w`` of one layer."""
        by_update = None if updates is None else cosines(updates.numpy(), centred=self.centred)
        return blend(
            (self.parameter_weight, self.among(state, clients, by_update)),
            (self.embedding_weight, self.among(state, clients, self.between_embeddings(state, clients))),
        )

    def cold_start(self, state: ServerState, embedding: torch.Tensor, layout: ParameterLayout) -> torch.Tensor:
        """The shared part with ``sum_j softmax_j(cos(e, e_j) / tau) theta_j`` over the clients there are."""
        return self.welcome(state, embedding, layout)
