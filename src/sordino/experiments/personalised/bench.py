"""A venue in this process: all speakers are here, with everything that they have recorded."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from sordino.data import Utterance
from sordino.errors import ConfigError
from sordino.evaluation import Sample, mark
from sordino.experiments.observer import Observer
from sordino.experiments.personalised.equipment import equip
from sordino.experiments.personalised.hiding import Hiding
from sordino.experiments.personalised.outcome import DEVELOPMENT, NEW, TEST, Heard, Outcome
from sordino.experiments.personalised.speakers import Speaker, Speakers, speakers_of
from sordino.experiments.personalised.start import begin
from sordino.experiments.personalised.venue import Party, Venue
from sordino.experiments.placing import placed
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated import FederatedMethod, InProcess, ServerState
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.private_steps import PrivateSteps
from sordino.federated.work import Work
from sordino.models.ctc import FRAMES_PER_S, Recogniser, Units
from sordino.models.ctc.adapters import with_adapters
from sordino.seeds import Seeds

__all__ = ["Bench", "make_bench"]


@dataclass(frozen=True, kw_only=True)
class Bench(Venue):
    """See `Venue`.

    Attributes:
        speakers: everybody.
        copies: the recogniser once more for each further client that is trained at a time.
    """

    speakers: Speakers
    copies: tuple[Recogniser, ...]

    @property
    def groups(self) -> Mapping[str, str]:
        """Those who train."""
        return {name: speaker.group for name, speaker in self.speakers.known.items()}

    @property
    def new_groups(self) -> Mapping[str, str]:
        """The others."""
        return {name: speaker.group for name, speaker in self.speakers.new.items()}

    @property
    def recordings(self) -> int:
        """All training utterances."""
        return sum(len(own) for own in self.training.values())

    @property
    def training(self) -> Mapping[str, Sequence[Utterance]]:
        """Each client's utterances to train on."""
        return {name: speaker.train for name, speaker in self.speakers.known.items()}

    def party(self, name: str, method: FederatedMethod, *, hiding: Hiding | None = None) -> Party:  # noqa: ARG002
        """The clients, trained on the recogniser and its copies."""
        return _Here(self, method, self.learners(hiding.steps() if hiding is not None else None))

    def learners(self, private: PrivateSteps | None = None) -> tuple[CtcLearner, ...]:
        """New learners, whose work is counted from zero.

        Args:
            private: how their steps hide single recordings, if they do.
        """
        first = replace(self.equipment.learner(self.training), private=private)
        return (first, *(replace(first, recogniser=copy, work=Work()) for copy in self.copies))

    def adapting(self) -> CtcLearner:
        """One whose recogniser has adapters, which the others have not."""
        options, seeds = self.options, self.seeds.at("adapters")
        model = self.equipment.copy(options.model.device)
        model = with_adapters(model, width=options.evaluation.adapter_width, seed=seeds.integer())
        return replace(self.equipment.learner(self.training), recogniser=model)

    def heard(self, values_of: Callable[[str], torch.Tensor], *, by: Recogniser | None = None) -> Heard:
        """What the clients' models make of their held-out utterances.

        Args:
            values_of: the parameters for a client, float32 [layout.size].
            by: the recogniser that they are for; the clients' if not given.
        """
        test, development = self._written(self.speakers.known, values_of, by)
        return Heard(
            test=[mark(sample) for sample in test],
            development=[mark(sample) for sample in development],
            transcripts={TEST: test, DEVELOPMENT: development},
        )

    def with_new(
        self,
        outcome: Outcome,
        welcomed: Callable[[str, CtcLearner], torch.Tensor],
        *,
        by: Recogniser | None = None,
    ) -> Outcome:
        """See `Venue.with_new`. Models are made one by one, each when it is needed, in as many passes as a client may spend.

        Args:
            outcome: of the clients.
            welcomed: makes the model of a new speaker, float32 [layout.size].
            by: the recogniser that it is for; the clients' if not given.
        """
        new = self.speakers.new
        if not new:
            return outcome
        few = {name: speaker.train for name, speaker in new.items()}
        local = replace(self.options.federated.local, epochs=self.options.federated.passes)
        learner = replace(self.equipment.learner(few), recogniser=by or self.model, options=local)
        written, _ = self._written(new, lambda client: welcomed(client, learner), by)
        recordings = sum(len(own) for own in few.values())
        return replace(
            outcome,
            heard=replace(outcome.heard, transcripts={**outcome.heard.transcripts, NEW: written}),
            new=[mark(sample) for sample in written],
            new_passes=learner.work.passes / recordings if recordings else 0.0,
        )

    def _written(
        self, speakers: Mapping[str, Speaker], values_of: Callable[[str], torch.Tensor], by: Recogniser | None
    ) -> tuple[Sequence[Sample], Sequence[Sample]]:
        """Everybody's test and development utterances, each transcribed by the speaker's own model."""
        pairs = [self.equipment.write(speaker, values_of(name), by=by) for name, speaker in speakers.items()]
        test, development = ([sample for pair in pairs for sample in pair[place]] for place in (0, 1))
        return test, development


class _Here(Party):
    def __init__(self, bench: Bench, method: FederatedMethod, learners: tuple[CtcLearner, ...]) -> None:
        self._bench, self._method, self._learners = bench, method, learners
        self._backend, self._begun = InProcess(learners, tuple(bench.groups)), time.process_time()

    @property
    def backend(self) -> InProcess:
        return self._backend

    def hear(self, state: ServerState, *, seeds: Seeds) -> tuple[Heard, Work]:
        method, layout, moment = self._method, self._bench.model.layout, (state.round + 1, 0)
        models = {
            client: method.personal(
                method.parting(state, client, layout),
                client,
                learner=self._learners[0],
                memory=self._backend.memory.of(client, moment),
                seeds=seeds.at(client),
            )
            for client in self._backend.clients()
        }
        work = sum((learner.work for learner in self._learners), Work(cpu_s=time.process_time() - self._begun))
        return self._bench.heard(models.__getitem__), work


def make_bench(options: PersonalisedExperiment, observer: Observer) -> Bench:
    """Loads recogniser and speakers, and makes the start.

    Args:
        options: the experiment.
        observer: is told what was left out.

    Raises:
        ConfigError: options that do not fit each other.
        DataError: recordings that cannot be used.
    """
    first, *others = placed(options.simulation, options.model.device)
    options = replace(options, model=replace(options.model, device=first))
    equipment = equip(options, disk_mb=options.data.disk_mb)
    _require_repeatable(equipment.model, equipment.options)
    splits = options.data.corpus.load(options.model.window_s)
    speakers = speakers_of(splits, options.data, equipment.seeds, window_s=options.model.window_s)
    for note in (*speakers.notes, *_not_taught(speakers, equipment.model.units)):
        observer.note(note)
    equipment.admit_all(population=len(speakers.known))
    start = begin(equipment, observer)
    copies = tuple(equipment.copy(place) for place in others)
    return Bench(equipment=equipment, start=start, speakers=speakers, copies=copies)


def _require_repeatable(model: Recogniser, options: PersonalisedExperiment) -> None:
    """Raises ConfigError if workers of one device would draw from its stream of dropout masks in turn, as it happens."""
    simulation = options.simulation
    if model.drops_units and simulation.shares_a_device(options.model.device):
        raise ConfigError(
            f"simulation.workers = {simulation.workers} with model.base = {options.model.base!r}, which drops units while "
            "it trains: the workers of one device would share its stream of dropout masks and no run could be repeated; set "
            "simulation.workers = 1, or give each worker a device of its own by simulation.devices."
        )


def _not_taught(speakers: Speakers, units: Units) -> Iterator[str]:
    """What of the training speech teaches nothing, since the recogniser cannot write it."""
    heard = [utterance for speaker in speakers.known.values() for utterance in speaker.train]
    odd = [part for utterance in heard for part in units.unwritable(utterance.text)[:1]]
    if odd:
        yield (
            f"{len(odd)} of {len(heard)} training transcripts hold what the output layer cannot write, such as {odd[0]!r}: "
            "it is not taught, and missed in the test; see model.vocabulary and model.alphabet."
        )
    quick = [u for u in heard if units.frames_needed(u.text) > math.ceil(u.duration_s * FRAMES_PER_S)]
    if quick:
        yield (
            f"{len(quick)} of {len(heard)} training utterances, such as {quick[0].audio.name}, are shorter than their "
            f"transcripts, at one unit a frame of {1000 // FRAMES_PER_S} ms: nothing is learned from them; see that the "
            "transcripts are of these recordings."
        )
