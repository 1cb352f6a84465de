"""One fold: who is tested, whose clips are public, and the case that follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import torch

from sordino.errors import ConfigError
from sordino.evaluation.folds import speaker_folds
from sordino.experiments.emotion.material import Material
from sordino.experiments.tasks.emotion import EmotionExperiment
from sordino.modality import Case, make_case, never_exposed, train_jointly
from sordino.models.emotion import Branch, Clips, EmotionNetwork
from sordino.seeds import Seeds

__all__ = ["Fold", "Rows", "divide", "folds_of"]


@dataclass(frozen=True, eq=False)
class Fold:
    """A division of the speakers, and everything that is trained in it.

    Attributes:
        options: the experiment.
        material: all clips.
        number: of the fold, from 0.
        test: clips of the speakers that nothing was trained on.
        public: clips of the public speakers.
        private: clips of the others.
        seeds: the fold's random streams.
    """

    options: EmotionExperiment
    material: Material
    number: int
    test: torch.Tensor
    public: torch.Tensor
    private: torch.Tensor
    seeds: Seeds

    def clips(self, rows: torch.Tensor) -> Clips:
        """The clips in these rows."""
        return self.material.clips.take(rows)

    @property
    def order(self) -> tuple[str, ...]:
        """Modalities that stay, in the order in which they are trained."""
        withdrawn = self.options.modality.withdrawn
        return tuple(name for name in self.options.model.modalities if name != withdrawn)

    def never_exposed(self) -> EmotionNetwork:
        """The network trained from the start on clips from which the withdrawn modality was taken out."""
        training = torch.cat([self.private, self.public]).sort().values
        return never_exposed(
            self.clips(training).only(self.order),
            self.order,
            outputs=self.material.num_outputs,
            branch=self.options.model.branch,
            training=self.options.modality.local,
            seeds=self.seeds,
        )

    def case(self, private: torch.Tensor | None = None) -> Case:
        """The network with the withdrawn modality's branch trained last.

        Args:
            private: rows of the private clips; all of the fold's if not given.
        """
        options = self.options
        case = make_case(
            options.modality.withdrawn,
            kept=self.never_exposed(),
            private=self.clips(self.private if private is None else private),
            public=self.clips(self.public),
            branch=options.model.branch,
            training=options.modality.local,
            seeds=self.seeds,
        )
        return replace(case, joint=self._joint(case)) if options.modality.training == "joint" else case

    def _joint(self, case: Case) -> EmotionNetwork:
        training = torch.cat([self.private, self.public]).sort().values
        fresh = EmotionNetwork(self.material.num_outputs)
        for name in self.order:
            fresh = fresh.extended(name, _untrained(case.kept.branch(name), self.seeds.at("initial", name)))
        whole = fresh.extended(case.modality, case.initial)
        local = self.options.modality.local
        return train_jointly(whole, clips=self.clips(training), options=local, seeds=self.seeds.at("joint"))


def _untrained(branch: Branch, seeds: Seeds) -> Branch:
    """A branch with the same constants and its initial weights."""
    new = Branch(len(branch.centre), branch.classification.out_features, options=branch.options, seed=seeds.integer())
    new.centre.copy_(branch.centre)
    new.scale.copy_(branch.scale)
    return new


def folds_of(options: EmotionExperiment, material: Material, *, seeds: Seeds) -> Iterator[Fold]:
    """The folds that are tested.

    Raises:
        ConfigError: too few speakers for that many public ones.
    """
    found = divide(material, folds=options.evaluation.folds, public_speakers=options.data.public_speakers, seeds=seeds)
    for number, rows in enumerate(islice(found, options.evaluation.tested_folds or None)):
        yield Fold(
            options=options,
            material=material,
            number=number,
            test=rows.test,
            public=rows.public,
            private=rows.private,
            seeds=seeds.at("fold", number),
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Which clips are whose, int64 each.

    Attributes:
        test: of the speakers that nothing is trained on.
        public: of the public speakers.
        private: of the others.
    """

    test: torch.Tensor
    public: torch.Tensor
    private: torch.Tensor


def divide(material: Material, *, folds: int, public_speakers: int, seeds: Seeds) -> Iterator[Rows]:
    """Speaker-independent folds, each with some of its training speakers made public, by chance.

    Args:
        material: all clips.
        folds: how many; 0 for one a speaker.
        public_speakers: how many.
        seeds: fix who they are.

    Raises:
        ConfigError: too few speakers for that.
    """
    row_of = {id(utterance): row for row, utterance in enumerate(material.utterances)}
    for number, division in enumerate(speaker_folds(material.utterances, num=folds)):
        speakers = sorted({utterance.speaker for utterance in division.train})
        if public_speakers >= len(speakers):
            raise ConfigError(
                f"data.public_speakers = {public_speakers} of {len(speakers)} training speakers: expected fewer, since the "
                "others' clips are what is protected; lower it."
            )
        order = seeds.at("fold", number, "public").generator().permutation(len(speakers))
        public = {speakers[index] for index in order[:public_speakers]}
        train = [(row_of[id(utterance)], utterance.speaker in public) for utterance in division.train]
        yield Rows(
            test=torch.tensor(sorted(row_of[id(utterance)] for utterance in division.test)),
            public=torch.tensor([row for row, is_public in train if is_public]),
            private=torch.tensor([row for row, is_public in train if not is_public]),
        )
