"""What the similarity methods share: a part that all speakers have in common, and one that each has for itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import torch

from sordino._check import at_least, fraction, one_of, positive
from sordino.config import option
from sordino.errors import ConfigError
from sordino.federated.learner import Learner, require_counts, require_embeddings, train
from sordino.federated.memory import ClientMemory
from sordino.federated.messages import Reply, Task
from sordino.federated.methods.base import FederatedMethod, ServerState, Stage
from sordino.federated.objective import PLAIN, Objective, Proximal, Reference
from sordino.federated.part import Part
from sordino.federated.similarity import (
    Matrix,
    cosines,
    drawn_together,
    shares,
    softmax_rows,
    uniform,
    weighted_sums,
)
from sordino.layout import ParameterLayout
from sordino.privacy import Mixing, Phase, PhasedPlan, Reads, Released, Update
from sordino.seeds import Seeds

__all__ = ["TwoPart"]

_SHARED: Final = "shared"
_COUNT: Final = "count"
_EMBEDDING: Final = "embedding"
_PERSONAL: Final = "personal"

_TINY: Final = 1e-12
"""Keeps an embedding of zero from being divided by."""

_CHOICES: Final = ("similarity", "uniform", "examples")


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoPart(FederatedMethod):
    """A shared part that is averaged, and for each client a personal part that is a blend of everybody's.

    | phase | clients train, everything else frozen | the server reads |
    |---|---|---|
    | shared | the shared part | the sum |
    | embedding | nothing; where the method asks for embeddings | each, noised by the client |
    | count | nothing; with ``weights = "examples"`` | each, noised by the client |
    | personal | the client's own personal part | what the method needs |

    The blend for client i is ``theta_i <- sum_j w_ij theta_j'``, theta_j' being client j's part after its training, and
    ``w_ij = (1 - sum_k b_k) / m + sum_k b_k W^k_ij`` over the m clients that are there. With the updates u_j, of which n are
    expected and only some come::

        theta_i <- theta_i + sum_j w_ij (theta_j - theta_i) + (m / n) sum_j w_ij u_j

    which is the blend itself if everybody takes part, and `FedAvg` of the personal part if all b_k are 0. A client that was
    not drawn counts as one that changed nothing. The source weighs the first term by n_j / n; equal weights keep one
    client's influence within what the noise is made for.

    Source: arXiv 2606.13253.
    """

    personal_components: tuple[str, ...] = option("Components that each speaker has for itself: the SD part.", ("sd",))
    temperature: float = option("tau: similarities are divided by it before the softmax; lower is choosier.", 1.0)
    centred: bool = option("Take the clients' mean away before cosines, which without are all near 1.", default=False)
    top_k: int = option("How many most similar clients each listens to, itself included; 0: all.", 0)
    weights: Literal["similarity", "uniform", "examples"] = option(
        "What decides who listens to whom: similarity; or, as controls, nothing, or how much each has recorded.",
        "similarity",
    )
    parameter_penalty: float = option("Weight of the shared part's squared distance from the global one.", 0.001)
    embedding_penalty: float = option("Weight of the squared distance of an utterance's embeddings.", 0.001)
    embedding_fraction: float = option(
        "Share of a client's utterances, drawn anew each time, that it is known by.", 0.2
    )
    embedding_clip_norm: float = option("L2 norm that an embedding is clipped to before a client noises it.", 1.0)
    count_clip_norm: float = option("Most utterances that a client is counted with before it noises that.", 1000.0)

    def __post_init__(self) -> None:
        positive("federated.method.temperature", self.temperature)
        at_least("federated.method.top_k", self.top_k, 0)
        one_of("federated.method.weights", self.weights, _CHOICES)
        at_least("federated.method.parameter_penalty", self.parameter_penalty, 0)
        at_least("federated.method.embedding_penalty", self.embedding_penalty, 0)
        fraction("federated.method.embedding_fraction", self.embedding_fraction, one=True)
        positive("federated.method.embedding_clip_norm", self.embedding_clip_norm)
        positive("federated.method.count_clip_norm", self.count_clip_norm)

    @property
    @abstractmethod
    def embeds(self) -> bool:
        """Whether clients say how they sound."""

    @property
    @abstractmethod
    def compares_updates(self) -> bool:
        """Whether the personal parts' updates are compared, and so read one by one."""

    @abstractmethod
    def blending(self, state: ServerState, clients: Sequence[str], updates: torch.Tensor | None) -> Matrix:
        """``m w_ij`` over these clients, float64 [m, m].

        Args:
            state: the server's.
            clients: in the order of rows and columns.
            updates: one layer of everybody's update, float32 [m, size], zero for who sent none; None unless compared.
        """

    def part(self, layout: ParameterLayout) -> Part:
        """What each client has for itself; raises ConfigError where that is nothing."""
        part = Part.of(layout, self.personal_components, key="federated.method.personal_components")
        if not part.names:
            raise ConfigError(
                "federated.method.personal_components is empty: expected the components that each speaker has for itself; "
                'name some, or set federated.method = "fedavg".'
            )
        return part

    def phases(self, layout: ParameterLayout, *, embedding_size: int | None = None) -> tuple[Phase, ...]:
        """As the table above; without a shared part, or anything to ask, fewer."""
        part, clipped = self.part(layout), self.embedding_clip_norm
        phases = [] if part.is_whole else [Phase(_SHARED, part.rest.layout)]
        if self.embeds:
            if embedding_size is None:
                raise ConfigError(
                    f"federated.method = {self.name!r} compares speakers by embeddings: expected a model that gives them; "
                    'set federated.method = "parameter-similarity", or choose another model.'
                )
            phases.append(_asked(_EMBEDDING, embedding_size, clipped))
        if self.weights == "examples":
            phases.append(_asked(_COUNT, 1, self.count_clip_norm))
        reads = Reads.EACH if self.compares_updates else Reads.MIX
        return (*phases, Phase(_PERSONAL, part.layout, reads))

    def start(self, state: ServerState, client: str, layout: ParameterLayout) -> torch.Tensor:
        """The shared part with the client's own, or the mean one if it is new."""
        own = state.models.get(client)
        return state.values if own is None else self.part(layout).put(own, into=state.values)

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:  # noqa: ARG002
        """Trains one part with the other frozen, or says what it is asked."""
        if task.phase == _EMBEDDING:
            share, known = self.embedding_fraction, require_embeddings(learner, method=self.name)
            heard = known.embed(task.client, task.start, fraction=share, seeds=task.seeds)
            return Reply(task.client, task.bounding.clip(Update(heard)), 0.0)
        if task.phase == _COUNT:
            count = require_counts(learner, method=self.name).num_examples(task.client)
            return Reply(task.client, task.bounding.clip(Update(torch.tensor([float(count)]))), 0.0)
        part = self.part(learner.layout)
        trained = part.rest if task.phase == _SHARED else part
        result = train(learner, task, self._objective(task, trained))
        sent = Update(trained.take(result.update.values))
        return Reply(task.client, task.bounding.clip(sent), result.loss, result.steps)

    def _objective(self, task: Task, trained: Part) -> Objective:
        if task.phase != _SHARED:
            return PLAIN if trained.is_whole else Objective(trained=trained)
        pull = (Proximal(2 * self.parameter_penalty, task.start, trained),) if self.parameter_penalty else ()
        return Objective(trained, pull, Reference(task.start, embedding=self.embedding_penalty))

    def combine(self, state: ServerState, released: Released, stage: Stage) -> ServerState:
        """Adds the released mean to the shared part."""
        return replace(state, values=self.part(stage.layout).rest.add(released.values, to=state.values))

    def mixing(self, state: ServerState, stage: Stage) -> Mixing:
        """The weights, which are the same for all layers where no updates are compared."""
        return Mixing(tuple(stage.clients), self.blending(state, stage.clients, None))

    def combine_each(self, state: ServerState, released: Mapping[str, Released], stage: Stage) -> ServerState:
        """Keeps what clients said, or gives everybody the blend of the personal parts."""
        values = {client: upload.values for client, upload in released.items()}
        if stage.phase == _EMBEDDING:
            return replace(state, embeddings={**state.embeddings, **values})
        if stage.phase == _COUNT:
            return replace(state, counts={**state.counts, **values})
        part = self.part(stage.layout)
        before = torch.stack([part.take(self.start(state, client, stage.layout)) for client in stage.clients])
        after = (self._compared if self.compares_updates else self._mixed)(state, before, values, stage)
        models = {**state.models, **dict(zip(stage.clients, after, strict=True))}
        mean = torch.stack(list(models.values())).double().mean(dim=0).float()
        return replace(state, models=models, values=part.put(mean, into=state.values))

    def _mixed(
        self, state: ServerState, before: torch.Tensor, outputs: Mapping[str, torch.Tensor], stage: Stage
    ) -> torch.Tensor:
        """The new parts, from what the plan has mixed already."""
        weights = self.blending(state, stage.clients, None)
        return drawn_together(before, weights) + torch.stack([outputs[client] for client in stage.clients])

    def _compared(
        self, state: ServerState, before: torch.Tensor, uploads: Mapping[str, torch.Tensor], stage: Stage
    ) -> torch.Tensor:
        """The new parts, each layer mixed by weights of its own."""
        nothing = torch.zeros(before.shape[1])
        updates = torch.stack([uploads.get(client, nothing) for client in stage.clients])
        after = torch.empty_like(before)
        for layer in self.part(stage.layout).layout.grouped("layer").groups:
            where = torch.cat([torch.arange(start, stop) for start, stop in layer.slices])
            weights = self.blending(state, stage.clients, updates[:, where])
            mixed = weighted_sums(updates[:, where], weights, divisor=stage.expected_cohort)
            after[:, where] = drawn_together(before[:, where], weights) + mixed
        return after

    def among(self, state: ServerState, clients: Sequence[str], similarities: Matrix | None) -> Matrix:
        """W over these clients, float64 [m, m]: from similarities, or what stands in for them as a control."""
        if self.weights == "examples":
            counts = [float(state.counts[client]) if client in state.counts else 0.0 for client in clients]
            return shares(counts)
        if self.weights == "uniform" or similarities is None:
            return uniform(len(clients))
        return softmax_rows(similarities, temperature=self.temperature, top_k=self.top_k)

    def between_embeddings(self, state: ServerState, clients: Sequence[str]) -> Matrix | None:
        """Cosines of what clients released; 0 with everybody for who has released nothing. None if nobody has."""
        known = [client for client in clients if client in state.embeddings]
        if not known:
            return None
        nothing = torch.zeros_like(state.embeddings[known[0]])
        vectors = [state.embeddings.get(client, nothing).numpy() for client in clients]
        return cosines(vectors, centred=self.centred)

    def newcomer(
        self,
        state: ServerState,
        client: str,
        *,
        learner: Learner,
        plan: PhasedPlan,
        seeds: Seeds,
    ) -> torch.Tensor:
        """Everybody's personal parts by how alike they sound; their mean where a method does not listen."""
        asked = [step.plan for step in plan.steps if step.phase.name == _EMBEDDING]
        if not asked:
            return self.start(state, client, learner.layout)
        known = require_embeddings(learner, method=self.name)
        heard = known.embed(client, state.values, fraction=1.0, seeds=seeds)
        most = asked[0].clipper.bounds.total
        return self.cold_start(state, heard * min(1.0, most / max(float(heard.norm()), _TINY)), learner.layout)

    def welcome(self, state: ServerState, embedding: torch.Tensor, layout: ParameterLayout) -> torch.Tensor:
        """A model for a new speaker: the shared part, and everybody's personal parts by how alike they sound to this one.

        It is made of released values, so it costs no privacy where the new speaker makes it; an embedding that is sent to
        the server for it is a release of its own.

        Args:
            state: the server's.
            embedding: of the new speaker, clipped as the others are.
            layout: of the model.

        Raises:
            ConfigError: nobody has said yet how he sounds.
        """
        known = [client for client in state.models if client in state.embeddings]
        if not known:
            raise ConfigError(
                "no client has released an embedding: expected one to compare a new speaker with; run a round first."
            )
        vectors = torch.stack([embedding, *(state.embeddings[client] for client in known)])
        alike = cosines(vectors.numpy(), centred=self.centred)[:1, 1:]
        weights = torch.from_numpy(softmax_rows(alike, temperature=self.temperature, top_k=self.top_k))
        own = weights @ torch.stack([state.models[client] for client in known]).double()
        return self.part(layout).put(own[0].float(), into=state.values)


def _asked(name: str, size: int, clip_norm: float) -> Phase:
    """A phase in which clients answer a question with a vector of their own."""
    layout = ParameterLayout.from_shapes([(name, name, (size,))])
    return Phase(name, layout, Reads.EACH, clip_norm=clip_norm, noised_by_clients=True)
