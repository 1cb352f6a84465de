"""A network from which one modality shall be withdrawn, and all that a mode may use to do it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from sordino.errors import ConfigError
from sordino.modality.options import TrainingOptions
from sordino.modality.training import train_branch
from sordino.models.emotion import Branch, BranchOptions, Clips, EmotionNetwork
from sordino.seeds import Seeds

__all__ = ["Case", "make_case", "never_exposed"]


@dataclass(frozen=True)
class Case:
    """One modality m*, whose branch comes last.

    Attributes:
        kept: the network of the other branches, which has never seen m*.
        modality: the name of m*.
        initial: m*'s branch before any training.
        reference: the branch after training on public clips alone: whatever is private about m* is not in it.
        private: the clips whose m* is to be protected.
        public: clips that anybody may see, which the reference was trained on.
        validation: further public clips, which nothing was trained on.
        training: how branches are trained.
        seeds: random streams of m*'s branch.
        joint: a network whose branches, m*'s among them, were all trained together; None where m*'s was trained last.
    """

    kept: EmotionNetwork
    modality: str
    initial: Branch
    reference: Branch
    private: Clips
    public: Clips
    validation: Clips
    training: TrainingOptions
    seeds: Seeds
    joint: EmotionNetwork | None = None

    @cached_property
    def exposed(self) -> Branch:
        """The branch trained on from the reference with the private clips and no protection: it must not be released."""
        return train_branch(
            self.kept,
            self.reference,
            name=self.modality,
            clips=self.private,
            options=self.training,
            seeds=self.seeds.at("private"),
        )

    @property
    def exposed_network(self) -> EmotionNetwork:
        """The network that has learnt from m* without protection."""
        return self.joint if self.joint is not None else self.with_branch(self.exposed)

    def with_branch(self, branch: Branch) -> EmotionNetwork:
        """The network with this branch for m*."""
        return self.kept.extended(self.modality, branch)


def never_exposed(
    clips: Clips,
    modalities: Sequence[str],
    *,
    outputs: int,
    branch: BranchOptions,
    training: TrainingOptions,
    seeds: Seeds,
) -> EmotionNetwork:
    """A network of these modalities, each branch trained beside those before it. It asks for nothing else in ``clips``.

    Args:
        clips: what to learn from.
        modalities: in the order in which they are trained and added.
        outputs: number of classes; 1 where a number is predicted.
        branch: how large a branch is.
        training: how it is trained.
        seeds: each modality has a stream of its own here.
    """
    network = EmotionNetwork(outputs)
    for name in modalities:
        start = _new_branch(name, clips, outputs=outputs, branch=branch, seeds=seeds)
        trained = train_branch(network, start, name=name, clips=clips, options=training, seeds=seeds.at("branch", name))
        network = network.extended(name, trained)
    return network.eval()


def make_case(
    modality: str,
    *,
    kept: EmotionNetwork,
    private: Clips,
    public: Clips,
    branch: BranchOptions,
    training: TrainingOptions,
    seeds: Seeds,
) -> Case:
    """Trains the reference on every other public clip of each speaker; the rest are for validation.

    Raises:
        ConfigError: the network has a branch of the modality already, or the public clips lack it.
    """
    if modality in kept.modalities:
        raise ConfigError(
            f"modality {modality!r} already has a branch, so others may have learnt from it; withdraw the last one."
        )
    if modality not in public.vectors:
        raise ConfigError(
            f"no public clip has the modality {modality!r}: expected some, for the reference that is independent of what is "
            "private; name public speakers who have it."
        )
    own = public.take(public.rows[modality])
    known, validation = (own.take(_every_other(own, first)) for first in (0, 1))
    start = _new_branch(modality, known, outputs=kept.num_outputs, branch=branch, seeds=seeds)
    streams = seeds.at("branch", modality)
    reference = train_branch(kept, start, name=modality, clips=known, options=training, seeds=streams.at("public"))
    return Case(kept, modality, start, reference, private, known, validation, training, streams)


def _new_branch(name: str, clips: Clips, *, outputs: int, branch: BranchOptions, seeds: Seeds) -> Branch:
    vectors = clips.vectors[name]
    new = Branch(vectors.shape[1], outputs, options=branch, seed=seeds.at("initial", name).integer())
    new.standardise(vectors)
    return new.eval()


def _every_other(clips: Clips, first: int) -> torch.Tensor:
    """Every second clip of each speaker, counted from ``first``."""
    seen: Counter[str] = Counter()
    chosen = []
    for row, speaker in enumerate(clips.speakers):
        if seen[speaker] % 2 == first:
            chosen.append(row)
        seen[speaker] += 1
    return torch.tensor(chosen, dtype=torch.int64)
