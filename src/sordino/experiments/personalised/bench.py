"""What all methods are run on: the same recogniser, start, speakers and clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from sordino.data import Utterance
from sordino.data.clips import ClipStore
from sordino.errors import ConfigError
from sordino.evaluation import Sample, normalise
from sordino.evaluation.ctc import Decoder, transcribe_clips
from sordino.experiments.observer import Observer
from sordino.experiments.personalised.entry import enter
from sordino.experiments.personalised.speakers import Speaker, Speakers, speakers_of
from sordino.experiments.placing import placed
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.private_steps import PrivateSteps
from sordino.models.ctc import CtcOptions, Recogniser, load_recogniser
from sordino.models.ctc.adapters import with_adapters
from sordino.seeds import Seeds

__all__ = ["Bench", "Heard", "make_bench"]

_PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Heard:
    """What models wrote for everybody's held-out utterances."""

    test: Sequence[Sample]
    development: Sequence[Sample]


@dataclass(frozen=True)
class Bench:
    """Everything that the methods have in common.

    Attributes:
        options: the experiment.
        speakers: the clients.
        recognisers: copies of one model, one for each client that is trained at a time.
        clips: their frames.
        decoder: reads their output.
        start: the parameters that every method starts from, float32 [layout.size].
        seeds: root of everything that the seed fixes.
    """

    options: PersonalisedExperiment
    speakers: Speakers
    recognisers: tuple[Recogniser, ...]
    clips: ClipStore
    decoder: Decoder
    start: torch.Tensor
    seeds: Seeds

    @property
    def training(self) -> Mapping[str, Sequence[Utterance]]:
        """Each client's utterances to train on."""
        return {name: speaker.train for name, speaker in self.speakers.known.items()}

    def learners(self, private: PrivateSteps | None = None) -> tuple[CtcLearner, ...]:
        """New learners, whose work is counted from zero.

        Args:
            private: how their steps hide single recordings, if they do.
        """
        local = self.options.federated.local
        return tuple(CtcLearner(model, self.clips, self.training, local, private=private) for model in self.recognisers)

    def welcoming(self) -> CtcLearner:
        """One that has what the new speakers have; each may be trained on for as many passes as a client's."""
        local = replace(self.options.federated.local, epochs=self.options.federated.passes)
        few = {name: speaker.train for name, speaker in self.speakers.new.items()}
        return CtcLearner(self.recognisers[0], self.clips, few, local)

    def adapting(self) -> CtcLearner:
        """One whose recogniser has adapters, which the others have not."""
        options = self.options
        model = load_recogniser(options.model, seed=_head(self.seeds))
        model = with_adapters(model, width=options.evaluation.adapter_width, seed=self.seeds.at("adapters").integer())
        return CtcLearner(model, self.clips, self.training, options.federated.local)

    def listen(
        self, values_of: Callable[[str], torch.Tensor], *, to: Mapping[str, Speaker], by: Recogniser | None = None
    ) -> Heard:
        """The held-out utterances of some speakers, each transcribed by the speaker's own model.

        Args:
            values_of: the parameters for a speaker, float32 [layout.size].
            to: the speakers.
            by: the recogniser that the parameters are for; the clients' if not given.
        """
        test: list[Sample] = []
        development: list[Sample] = []
        model = by or self.recognisers[0]
        for name, speaker in to.items():
            model.flat.load(values_of(name))
            written = transcribe_clips(
                model,
                self.clips,
                [*speaker.test, *speaker.development],
                decoder=self.decoder,
                batch_size=self.options.evaluation.batch_size,
            )
            test += written[: len(speaker.test)]
            development += written[len(speaker.test) :]
        return Heard(test, development)


def make_bench(options: PersonalisedExperiment, observer: Observer, *, start: torch.Tensor | None = None) -> Bench:
    """Loads recogniser and speakers, and trains the start on public speech.

    Args:
        options: the experiment.
        observer: is told what was left out.
        start: that of an interrupted run, which is not trained again.

    Raises:
        ConfigError: options that do not fit each other.
        DataError: recordings that cannot be used.
    """
    if options.simulation.threads:
        torch.set_num_threads(options.simulation.threads)
    seeds = Seeds(options.seed)
    vocabulary = tuple(dict.fromkeys(normalise(word) for word in options.model.vocabulary))
    first, *others = placed(options.simulation, options.model.device)
    options = replace(options, model=replace(options.model, vocabulary=vocabulary, device=first))
    model, clips = _heard_by(options.model, seeds, memory_mb=options.data.memory_mb)
    _require_repeatable(model, options)
    splits = options.data.corpus.load(options.model.window_s)
    speakers = speakers_of(splits, options.data, seeds)
    for note in (*speakers.notes, *_not_taught(speakers, model)):
        observer.note(note)
    _admit_all(options, CtcLearner(model, clips, {}, options.federated.local), population=len(speakers.known))
    if start is None:
        start = _trained(model, clips, options, seeds.at("start"), observer)
    copies = [load_recogniser(replace(options.model, device=place), seed=_head(seeds)) for place in others]
    decoder = Decoder(model.units, options.evaluation.decoding, vocabulary)
    return Bench(options, speakers, (model, *copies), clips, decoder, start, seeds)


def _require_repeatable(model: Recogniser, options: PersonalisedExperiment) -> None:
    """Raises ConfigError if workers of one device would draw from its stream of dropout masks in turn, as it happens."""
    simulation = options.simulation
    if model.drops_units and simulation.shares_a_device(options.model.device):
        raise ConfigError(
            f"simulation.workers = {simulation.workers} with model.base = {options.model.base!r}, which drops units while "
            "it trains: the workers of one device would share its stream of dropout masks and no run could be repeated; set "
            "simulation.workers = 1, or give each worker a device of its own by simulation.devices."
        )


def _admit_all(options: PersonalisedExperiment, learner: CtcLearner, *, population: int) -> None:
    """Raises ConfigError if one of the methods cannot be run as asked, before any of them has trained for hours."""
    for name, method in options.methods.items():
        entry = enter(
            options,
            name,
            method,
            layout=learner.layout,
            embedding_size=learner.embedding_size,
            population=population,
        )
        method.require_hooks(step.phase for step in entry.plan.steps)


def _not_taught(speakers: Speakers, model: Recogniser) -> tuple[str, ...]:
    """What the transcripts hold that the recogniser cannot write: every such word is an error of all methods."""
    texts = [utterance.text for speaker in speakers.known.values() for utterance in speaker.train]
    odd = [text for text in texts if model.units.unwritable(text)]
    if not odd:
        return ()
    such = model.units.unwritable(odd[0])[0]
    return (
        f"{len(odd)} of {len(texts)} training transcripts hold what the output layer cannot write, such as {such!r}: it is "
        "not taught, and missed in the test; see model.vocabulary and model.alphabet.",
    )


def _head(seeds: Seeds) -> int:
    return seeds.at("output layer").integer()


def _heard_by(options: CtcOptions, seeds: Seeds, *, memory_mb: float) -> tuple[Recogniser, ClipStore]:
    model = load_recogniser(options, seed=_head(seeds))
    clips = ClipStore(model.hear, num_mels=model.front.num_mels, window_s=options.window_s, limit_mb=memory_mb)
    return model, clips


def _trained(
    model: Recogniser, clips: ClipStore, options: PersonalisedExperiment, seeds: Seeds, observer: Observer
) -> torch.Tensor:
    """The recogniser after training on public speech; as it is without any."""
    begun = model.flat.snapshot()
    if options.start.corpus is None:
        return begun
    public = options.start.corpus.load(options.model.window_s).train
    spelt = [replace(utterance, text=normalise(utterance.text, utterance.language)) for utterance in public]
    learner = CtcLearner(model, clips, {_PUBLIC: spelt}, options.start.local)
    result = learner.fit(_PUBLIC, begun, seeds=seeds)
    observer.note(
        f"start: {options.start.local.epochs} passes over {len(spelt)} public utterances, mean loss {result.loss:.3f}."
    )
    return begun + result.update.values
