"""Local training of a CTC recogniser on one client's utterances, whole or in part."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, TypeVar

import torch
from torch import nn

from sordino.data import Utterance
from sordino.data.clips import ClipStore
from sordino.errors import PrivacyError
from sordino.federated.learner import LocalResult
from sordino.federated.objective import PLAIN, Objective, Reference
from sordino.federated.options import LocalOptions
from sordino.federated.part import Part
from sordino.federated.private_steps import PrivateSteps
from sordino.federated.work import Work
from sordino.layout import ParameterLayout
from sordino.models.devices import seed_device
from sordino.privacy import Update
from sordino.seeds import Seeds

if TYPE_CHECKING:
    from sordino.models.ctc import Frames, Outputs, Recogniser

__all__ = ["CtcLearner"]

_Recorded: TypeAlias = Mapping[str, tuple[torch.Tensor, torch.Tensor]]
"""Embedding and log-probabilities of each utterance by its key."""

_Item = TypeVar("_Item")

_TINY: Final = 1e-12
"""Keeps a gradient of zero from being divided by."""


@dataclass(frozen=True)
class CtcLearner:
    """One recogniser shared by all clients of this process, and everybody's utterances.

    Args:
        recogniser: only its flat vector changes.
        clips: its frames.
        clients: each client's utterances, transcripts already normalised.
        options: how a client trains.
        work: counts what was done.
        private: how steps hide single recordings; None: they do not. Then a step's recordings are drawn at random,
            ``batch_size`` is the constant that their sum is divided by, and the loss, which has no noise, is told as 0.
    """

    penalties: ClassVar[frozenset[str]] = frozenset({"embedding", "output"})

    recogniser: Recogniser
    clips: ClipStore
    clients: Mapping[str, Sequence[Utterance]]
    options: LocalOptions
    work: Work = field(default_factory=Work)
    private: PrivateSteps | None = None

    @property
    def layout(self) -> ParameterLayout:
        """The recogniser's layout."""
        return self.recogniser.layout

    @property
    def embedding_size(self) -> int:
        """Width of the speaker-independent part's output."""
        return self.recogniser.front.width

    def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds, objective: Objective = PLAIN) -> LocalResult:
        """AdamW from ``start`` over the client's utterances; a new optimiser each time, so clients never mix.

        Shape:
            start: float32 [layout.size], unchanged
        """
        flat, utterances = self.recogniser.flat, self.clients[client]
        recorded = self._recorded(utterances, objective.reference)
        flat.load(start)
        self.recogniser.train()
        seed_device(flat.values.device, seeds.at("dropout of units").integer())
        part = objective.trained or Part(self.layout, frozenset(slot.name for slot in self.layout.slots))
        decay = self.options.weight_decay
        optimizer = torch.optim.AdamW(self._leaves(part.slices), lr=self.options.lr, weight_decay=decay, fused=True)
        batches = list(self._batches(utterances, seeds, epochs=objective.epochs or self.options.epochs))
        backward = partial(self._backward, reference=objective.reference, recorded=recorded)
        losses = 0.0
        with self.recogniser.training_only(part.names):
            for step, batch in enumerate(batches):
                for group in optimizer.param_groups:
                    group["lr"] = self.options.lr * 0.5 * (1 + math.cos(math.pi * step / len(batches)))
                flat.zero_gradient()
                if self.private is None:
                    losses += backward(batch)
                else:
                    self._privately(self.private, client, batch, part, backward, seeds=seeds.at(step))
                for penalty in objective.proximal:
                    penalty.add_gradient(flat.values, into=flat.gradient)
                self._limit_gradient(part.slices)
                optimizer.step()
        self.work.steps += len(batches)
        self.work.passes += sum(len(batch) for batch in batches)
        update = Update(flat.snapshot().sub_(start))
        return LocalResult(update, losses / len(batches), len(batches))

    def num_examples(self, client: str) -> int:
        """How many utterances the client has."""
        return len(self.clients[client])

    @torch.no_grad()
    def embed(self, client: str, values: torch.Tensor, *, fraction: float, seeds: Seeds) -> torch.Tensor:
        """See `sordino.federated.learner.Embeds`: float32 [embedding_size].

        Raises:
            PrivacyError: steps hide single recordings, which an embedding would not.
        """
        if self.private is not None:  # experiments refuse such methods, and this is the lock, whoever asks
            raise PrivacyError(
                "an embedding is outside the steps that hide single recordings; unset recording_privacy."
            )
        utterances = self.clients[client]
        count = max(1, round(fraction * len(utterances)))
        chosen = seeds.at("embedding").generator().permutation(len(utterances))[:count].tolist()
        self.recogniser.flat.load(values)
        self.recogniser.eval()
        self.work.heard += count
        embeddings = [
            self.recogniser.embeddings(self._frames([utterances[index] for index in part]))
            for part in _cut(chosen, self._size)
        ]
        return torch.cat(embeddings).mean(dim=0).cpu()

    @property
    def _size(self) -> int:
        """How many are computed at once: under privacy one, so that no other one's length touches its last bits."""
        if self.private is not None:
            return 1
        return self.options.micro_batch_size or self.options.batch_size

    def _frames(self, utterances: Sequence[Utterance]) -> Frames:
        from sordino.models.ctc import Frames

        return Frames.of([self.clips.clip(utterance) for utterance in utterances])

    def _leaves(self, slices: Sequence[tuple[int, int]]) -> list[nn.Parameter]:
        """What the optimiser steps on: stretches of the flat vector, with the same stretches of its gradient."""
        leaves = []
        for start, stop in slices:
            leaf = nn.Parameter(self.recogniser.flat.values[start:stop])
            leaf.grad = self.recogniser.flat.gradient[start:stop]
            leaves.append(leaf)
        return leaves

    def _backward(self, batch: Sequence[Utterance], reference: Reference | None, recorded: _Recorded) -> float:
        """Adds the gradient of the batch's loss and penalties, a few utterances at a time; returns the loss without them.

        Those computed together are of like length, so that little is padded.
        """
        batch = sorted(batch, key=lambda utterance: utterance.duration_s)
        units = sum(len(self.recogniser.units.encode(utterance.text)) for utterance in batch)
        total = 0.0
        for part in _cut(batch, self._size):
            outputs = self.recogniser.outputs(self._frames(part))
            loss = self.recogniser.loss(outputs, [utterance.text for utterance in part], num_units=units)
            total += float(loss.detach())
            if reference is not None and reference.asked:
                drift = _drift(outputs, [recorded[utterance.key] for utterance in part], reference)
                loss = loss + drift * len(part) / len(batch)
            loss.backward()
        return total

    def _privately(
        self,
        private: PrivateSteps,
        client: str,
        batch: Sequence[Utterance],
        part: Part,
        backward: Callable[[Sequence[Utterance]], float],
        *,
        seeds: Seeds,
    ) -> None:
        """Puts the noised mean of each utterance's own clipped gradient in the gradient's place, and tells no loss.

        Each has dropout of its own, which does not depend on who else was drawn.
        """
        flat = self.recogniser.flat

        def gradients() -> Iterator[torch.Tensor]:
            for utterance in batch:
                flat.zero_gradient()
                seed_device(flat.values.device, seeds.at("dropout of units", utterance.key).integer())
                backward([utterance])
                yield part.take(flat.gradient).cpu()

        mean = private.mean(gradients(), part.layout, client=client, lot=self.options.batch_size, place=seeds.path)
        flat.gradient.copy_(part.put(mean, into=torch.zeros(self.layout.size)))

    def _limit_gradient(self, slices: Sequence[tuple[int, int]]) -> None:
        parts = [self.recogniser.flat.gradient[start:stop] for start, stop in slices]
        norm = math.sqrt(sum(float(part.norm()) ** 2 for part in parts))
        scale = self.options.gradient_clip / max(norm, _TINY)
        if scale < 1:
            for part in parts:
                part.mul_(scale)

    @torch.no_grad()
    def _recorded(self, utterances: Sequence[Utterance], reference: Reference | None) -> _Recorded:
        """What the reference makes of everything the client has; it stays as it is, so once is enough."""
        if reference is None or not reference.asked:
            return {}
        self.recogniser.flat.load(reference.values)
        self.recogniser.eval()
        self.work.heard += len(utterances)
        found: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        for part in _cut(utterances, self._size):
            outputs = self.recogniser.outputs(self._frames(part))
            for row, utterance in enumerate(part):
                length = int(outputs.frames.lengths[row])
                found[utterance.key] = outputs.embeddings[row], outputs.log_probs[row, :length]
        return found

    def _batches(self, utterances: Sequence[Utterance], seeds: Seeds, *, epochs: int) -> Iterator[Sequence[Utterance]]:
        """Every epoch's utterances in a new order, cut into batches; or private draws of them."""
        if self.private is not None:
            yield from self.private.lots(utterances, passes=epochs, place=seeds.path)
            return
        for epoch in range(epochs):
            order = seeds.at("epoch", epoch).generator().permutation(len(utterances))
            yield from _cut([utterances[index] for index in order], self.options.batch_size)


def _cut(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]


def _drift(
    outputs: Outputs, recorded: Sequence[tuple[torch.Tensor, torch.Tensor]], reference: Reference
) -> torch.Tensor:
    """The penalties of `Reference`, as means over some utterances."""
    embeddings = torch.stack([embedding for embedding, _ in recorded])
    distance = ((outputs.embeddings - embeddings) ** 2).sum(dim=1).mean()
    divergences = [
        (before.exp() * (before - outputs.log_probs[row, : len(before)])).sum(dim=1).mean()
        for row, (_, before) in enumerate(recorded)
    ]
    return reference.embedding * distance + reference.output * torch.stack(divergences).mean()
