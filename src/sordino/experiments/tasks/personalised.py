"""The experiment file of personal recognisers: several federated methods on the same speakers, start and compute."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from sordino._check import at_least, fraction, one_of
from sordino.config import Choice, Home, option
from sordino.data import CORPORA, Corpus
from sordino.errors import ConfigError
from sordino.evaluation.ctc import DecodingOptions
from sordino.experiments.tasks.base import TASKS, Experiment
from sordino.experiments.tasks.federated import DISK, SimulationOptions
from sordino.federated.methods.base import KEY, METHODS, FederatedMethod
from sordino.federated.options import LocalOptions
from sordino.models.ctc import CtcOptions
from sordino.privacy import COHORTS, CohortSampler, Poisson, PrivacyOptions
from sordino.privacy.recordings import RecordingPrivacy

if TYPE_CHECKING:
    from sordino.experiments.observer import Observer
    from sordino.experiments.on_flower.halves import Halves

__all__ = [
    "PersonalisedData",
    "PersonalisedEvaluation",
    "PersonalisedExperiment",
    "PersonalisedFederation",
    "StartOptions",
]

REFERENCES: Final = ("start", "central", "sd-adapters")
"""What may stand beside the methods: the untouched start, and training on everybody's pooled recordings, by itself or for
half of the passes, followed by each speaker's own adapters."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalisedData:
    """Whose speech: each speaker is a client, and is tested on utterances of their own that were held out."""

    corpus: Annotated[Corpus, Choice(CORPORA)] = option("Where utterances come from.")
    held_out: float = option(
        "Share of each speaker's utterances that is tested on, in place of the corpus's own test set; 0 keeps that.",
        0.0,
    )
    development: float = option(
        "Share of each speaker's training utterances that nobody trains on, to choose options by; 0: none.", 0.2
    )
    least_fraction: float = option(
        "Share of its training utterances that the speaker with the fewest keeps; the others keep shares evenly spread from "
        "there to 1, dealt at random. 1: everybody keeps all.",
        1.0,
    )
    new_speakers: int = option(
        "How many speakers never train, and get a model afterwards: in turn one of each group, the same under every seed.",
        0,
    )
    new_utterances: int = option(
        "How many utterances of its own a new speaker's model may be made from; 0: none, so from nothing.", 3
    )
    group: str = option("Attribute of the utterances that error rates are also given by.", "severity")
    memory_mb: float = option("Memory for frames that are computed once, in 10^6 bytes; speed only.", 512.0)
    disk_mb: float = option(DISK, 0.0)

    def __post_init__(self) -> None:
        fraction("data.held_out", self.held_out, zero=True)
        fraction("data.development", self.development, zero=True)
        fraction("data.least_fraction", self.least_fraction, one=True)
        at_least("data.new_speakers", self.new_speakers, 0)
        at_least("data.new_utterances", self.new_utterances, 0)
        at_least("data.memory_mb", self.memory_mb, 0)
        at_least("data.disk_mb", self.disk_mb, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """Training on public speech before anybody's own is touched; it costs no privacy."""

    corpus: Annotated[Corpus, Choice(CORPORA), Home("data.corpus")] | None = option(
        "Public speech, of which the training part is used; without it the model starts as it is.", None
    )
    output_layer: Annotated[LocalOptions, Home("federated.local")] | None = option(
        "How a new output layer is trained by itself first, so that what it does not know yet spoils no pretrained layer; "
        "not at all if not given.",
        None,
    )
    local: Annotated[LocalOptions, Home("federated.local")] = option("How the start is trained.", factory=LocalOptions)
    kept: Path | None = option(
        "Start of an earlier run, in place of training one: starts/seedN.safetensors in its folder.", None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalisedFederation:
    """What each method may spend."""

    passes: int = option(
        "Passes over a drawn client's utterances that each method may spend, whatever its rounds are made of.", 10
    )
    cohort: Annotated[CohortSampler, Choice(COHORTS)] = option(
        "Who takes part in a round.", factory=lambda: Poisson(rate=1.0)
    )
    local: LocalOptions = option(
        "Training at the client.", factory=lambda: LocalOptions(epochs=1, lr=1e-3, batch_size=8)
    )

    def __post_init__(self) -> None:
        at_least("federated.passes", self.passes, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalisedEvaluation:
    """How the error rates are measured, and what methods are compared with."""

    decoding: DecodingOptions = option("From the recogniser's output to text.", factory=DecodingOptions)
    batch_size: int = option("Clips decoded together; changes the speed only.", 32)
    references: tuple[str, ...] = option(
        "To stand beside the methods: start (untouched), central (everybody's recordings pooled), and sd-adapters (pooled "
        "for half of the passes, then adapters of each speaker's own).",
        ("start",),
    )
    adapter_width: int = option("Inner width of those adapters.", 32)
    baseline: str | None = option(
        "Method or reference that differences are taken to; the first method if not given.", None
    )

    def __post_init__(self) -> None:
        at_least("evaluation.batch_size", self.batch_size, 1)
        at_least("evaluation.adapter_width", self.adapter_width, 1)
        for name in self.references:
            one_of("evaluation.references", name, REFERENCES)


@TASKS.register("personalised")
@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalisedExperiment(Experiment):
    """Personal recognisers for speakers who differ, by several federated methods at equal compute."""

    task: Literal["personalised"] = option("What kind of experiment this is.", "personalised")
    seed: int = option("Fixes data, the start and the order of local training.", 0)
    seeds: tuple[int, ...] = option(
        "Everything is run once with each of these in place of seed, and the results are pooled; none: seed alone.", ()
    )
    telemetry: Literal["private", "debug"] = option(
        "The result is error rates on the clients' own speech, which no guarantee covers: say debug.", "private"
    )
    plugins: tuple[str, ...] = option("Modules to import, which register methods of their own.", ())
    data: PersonalisedData = option("The recordings.")
    model: CtcOptions = option("The recogniser.", factory=CtcOptions)
    start: StartOptions = option("What the recogniser learns before.", factory=StartOptions)
    federated: PersonalisedFederation = option("The federation.", factory=PersonalisedFederation)
    methods: Mapping[str, Annotated[FederatedMethod, Choice(METHODS), Home(KEY)]] = option(
        "What is compared: names of your own, each with a federated method and its options."
    )
    privacy: PrivacyOptions = option("The guarantee, of each method by itself.")
    recording_privacy: RecordingPrivacy | None = option(
        "A guarantee for single recordings, by noise in each client's own training, in place of one for speakers: with "
        'privacy.mechanism = "none".',
        None,
    )
    evaluation: PersonalisedEvaluation = option("The measurements.", factory=PersonalisedEvaluation)
    simulation: SimulationOptions = option("Settings for simulations.", factory=SimulationOptions)

    def __post_init__(self) -> None:
        if self.telemetry == "private":
            raise ConfigError(
                'telemetry = "private": expected "debug", since what this experiment finds out are error rates on the '
                'clients\' own speech, which no guarantee covers; set telemetry = "debug".'
            )
        if len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(
                f"seeds = {list(self.seeds)}: expected each once, since a seed repeats itself; correct the list."
            )
        if not self.methods:
            raise ConfigError(
                'methods is empty: expected at least one; write for example: [methods] fedavg = "fedavg".'
            )
        for name in self.methods:
            if not _NAME.fullmatch(name) or name in REFERENCES:
                raise ConfigError(
                    f"methods.{name}: expected a name of letters, digits, '.', '_', '+' and '-' that is not one of "
                    f"{', '.join(REFERENCES)}; rename it."
                )
        if "sd-adapters" in self.evaluation.references:
            at_least("federated.passes", self.federated.passes, 2)
        if self.recording_privacy is not None:
            self._refuse_beside_recording_privacy()
        one_of("evaluation.baseline", self.baseline, [*self.methods, *self.evaluation.references])

    def _refuse_beside_recording_privacy(self) -> None:
        """Raises ConfigError where something would be released that noise in the clients' training does not cover."""
        if self.privacy.mechanism != "none":
            raise ConfigError(
                f'recording_privacy with privacy.mechanism = "{self.privacy.mechanism}": expected a guarantee for '
                'recordings or one for speakers; unset recording_privacy, or set privacy.mechanism = "none".'
            )
        pooling = [name for name in self.evaluation.references if name != "start"]
        if pooling:
            raise ConfigError(
                f"recording_privacy with evaluation.references = {list(self.evaluation.references)}: expected none that "
                'trains on pooled recordings without noise; set evaluation.references = ["start"].'
            )

    @property
    def baseline(self) -> str:
        """What differences are taken to."""
        return self.evaluation.baseline or next(iter(self.methods))

    @property
    def repetitions(self) -> tuple[int, ...]:
        """The seeds that everything is run with."""
        return self.seeds or (self.seed,)

    @property
    def num_steps(self) -> int:
        """Passes of all methods together, under all seeds."""
        return len(self.repetitions) * len(self.methods) * self.federated.passes

    def run(self, path: Path, *, resume: bool = False, observer: Observer | None = None) -> dict[str, Any]:
        """See `sordino.experiments.personalised.run_personalised`."""
        from sordino.experiments.personalised import run_personalised

        return run_personalised(self, path, resume=resume, observer=observer)

    def on_flower(self) -> Halves:
        """See `sordino.experiments.on_flower.personalised`."""
        self._refuse_on_flower()
        from sordino.experiments.on_flower.personalised import PersonalisedHalves

        return PersonalisedHalves(self)

    def _refuse_on_flower(self) -> None:
        """Raises ConfigError where something would have to leave a node, or be known there, that does not."""
        pooling = [name for name in self.evaluation.references if name != "start"]
        if pooling:
            raise ConfigError(
                f"evaluation.references = {list(self.evaluation.references)} on Flower: expected none that pools "
                'recordings, which stay at the nodes; set evaluation.references = ["start"].'
            )
        if self.data.new_speakers:
            raise ConfigError(
                f"data.new_speakers = {self.data.new_speakers} on Flower: expected 0, since a new speaker's model is made "
                "of what the server holds of everybody; set data.new_speakers = 0, or use sordino run."
            )
