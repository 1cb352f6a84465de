"""What a process needs to train and test recognisers: a model, its frames, and a way to read its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from sordino.data import Utterance
from sordino.data.clips import ClipStore
from sordino.data.shelf import Shelf
from sordino.evaluation import Sample, normalise
from sordino.evaluation.ctc import Decoder, transcribe_clips
from sordino.experiments.personalised.entry import enter
from sordino.experiments.personalised.speakers import Speaker
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated.ctc_training import CtcLearner
from sordino.models.ctc import Recogniser, load_recogniser
from sordino.seeds import Seeds

__all__ = ["Equipment", "equip"]


@dataclass(frozen=True)
class Equipment:
    """One recogniser under one seed.

    Attributes:
        options: the experiment, its vocabulary spelt as it is scored.
        model: the recogniser.
        clips: its frames.
        decoder: reads its output.
        seeds: root of everything that the seed fixes.
    """

    options: PersonalisedExperiment
    model: Recogniser
    clips: ClipStore
    decoder: Decoder
    seeds: Seeds

    def learner(self, clients: Mapping[str, Sequence[Utterance]]) -> CtcLearner:
        """A new learner with these clients' utterances, whose work is counted from zero."""
        return CtcLearner(self.model, self.clips, clients, self.options.federated.local)

    def copy(self, device: str) -> Recogniser:
        """The same recogniser once more."""
        return load_recogniser(replace(self.options.model, device=device), seed=_head(self.seeds))

    def write(
        self, speaker: Speaker, values: torch.Tensor, *, by: Recogniser | None = None
    ) -> tuple[Sequence[Sample], Sequence[Sample]]:
        """A speaker's test and development utterances, transcribed.

        Args:
            speaker: whose.
            values: the parameters, float32 [layout.size].
            by: the recogniser that they are for; the equipment's own if not given.
        """
        model = by or self.model
        model.flat.load(values)
        written = transcribe_clips(
            model,
            self.clips,
            [*speaker.test, *speaker.development],
            decoder=self.decoder,
            batch_size=self.options.evaluation.batch_size,
        )
        return written[: len(speaker.test)], written[len(speaker.test) :]

    def admit_all(self, *, population: int) -> None:
        """Raises ConfigError if one of the methods cannot be run as asked, before any of them has trained for hours."""
        for name, method in self.options.methods.items():
            entry = enter(
                self.options,
                name,
                method,
                layout=self.model.layout,
                embedding_size=self.model.front.width,
                population=population,
            )
            method.require_hooks(step.phase for step in entry.plan.steps)


def equip(options: PersonalisedExperiment, *, disk_mb: float = 0) -> Equipment:
    """Loads the recogniser.

    Args:
        options: the experiment.
        disk_mb: room on this machine's disk for frames, in 10^6 bytes; another's experiment does not decide that.

    Raises:
        ConfigError: options that do not fit each other.
    """
    if options.simulation.threads:
        torch.set_num_threads(options.simulation.threads)
    seeds = Seeds(options.seed)
    vocabulary = tuple(dict.fromkeys(normalise(word) for word in options.model.vocabulary))
    options = replace(options, model=replace(options.model, vocabulary=vocabulary))
    model = load_recogniser(options.model, seed=_head(seeds))
    clips = ClipStore(
        model.hear,
        num_mels=model.front.num_mels,
        window_s=options.model.window_s,
        limit_mb=options.data.memory_mb,
        shelf=Shelf(int(disk_mb * 1e6)) if disk_mb else None,
        digest=model.front_digest if disk_mb else "",
    )
    return Equipment(options, model, clips, Decoder(model.units, options.evaluation.decoding, vocabulary), seeds)


def _head(seeds: Seeds) -> int:
    return seeds.at("output layer").integer()
