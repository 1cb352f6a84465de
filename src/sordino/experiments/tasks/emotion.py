"""The experiment file of an emotion model that loses a modality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sordino._check import at_least, one_of, positive
from sordino.config import Choice, FolderOrName, option
from sordino.data import CORPORA, Corpus
from sordino.errors import ConfigError
from sordino.experiments.tasks.base import TASKS, Experiment
from sordino.modality import MODES, Mode, TrainingOptions
from sordino.modality.modes.delete import Delete
from sordino.models.emotion import BranchOptions

if TYPE_CHECKING:
    from sordino.experiments.observer import Observer

__all__ = ["EmotionData", "EmotionEvaluation", "EmotionExperiment", "EmotionModel", "WithdrawalOptions"]

_COMPUTED = ("speech", "prosody", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmotionData:
    """Whose emotions."""

    corpus: Annotated[Corpus, Choice(CORPORA)] = option(
        "Where utterances come from; each has the attribute emotion, or sentiment."
    )
    public_speakers: int = option(
        "How many of the training speakers anybody may see: what the withdrawn modality's reference, subspace, clip norms "
        "and back-off come from.",
        3,
    )
    own_scale: bool = option(
        "Shift and scale each track by what the speaker's own clips have, without labels: then they depend on each other.",
        default=True,
    )
    longest_s: float = option("Longer utterances are left out.", 30.0)

    def __post_init__(self) -> None:
        at_least("data.public_speakers", self.public_speakers, 1)
        positive("data.longest_s", self.longest_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmotionModel:
    """Modalities, in the order in which their branches are trained and added, and what their frames come from."""

    modalities: tuple[str, ...] = option(
        "speech, prosody (pitch and energy), text, or a name under features.", ("speech", "prosody")
    )
    speech: Annotated[str, FolderOrName(reserved=("pocket",))] = option(
        "Encoder of the speech: Whisper's or one of HuBERT's kind, hub id or folder; pocket is shipped.", "pocket"
    )
    speech_layers: int | None = option("How many of its layers are run; all if not given.", None)
    text: Annotated[str, FolderOrName(reserved=("pocket",))] = option(
        "Encoder of the text, of BERT's or Llama's kind, hub id or folder; pocket is shipped.", "pocket"
    )
    features: Mapping[str, Path] = option("Feature files of further modalities, by name, e.g. face.", factory=dict)
    branch: BranchOptions = option("The branch that each modality gets.", factory=BranchOptions)

    def __post_init__(self) -> None:
        if not self.modalities or len(set(self.modalities)) < len(self.modalities):
            raise ConfigError(
                f"model.modalities = {list(self.modalities)}: expected at least one, each once; correct the list."
            )
        for name in self.modalities:
            one_of("model.modalities", name, [*_COMPUTED, *self.features])
        if self.speech_layers is not None:
            at_least("model.speech_layers", self.speech_layers, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalOptions:
    """Which modality is withdrawn, and how."""

    withdrawn: str = option("The modality that is to be withdrawn.", "prosody")
    training: Literal["isolated", "joint"] = option(
        "isolated trains its branch last, beside frozen others; joint trains all at once with modality dropout, which has "
        "no deletion property.",
        "isolated",
    )
    local: TrainingOptions = option("How a branch is trained.", factory=TrainingOptions)
    mode: Annotated[Mode, Choice(MODES)] = option("How it is withdrawn.", factory=Delete)

    def __post_init__(self) -> None:
        if self.training == "joint" and self.mode.needs_isolation:
            raise ConfigError(
                f'modality.training = "joint" with mode = {self.mode.name!r}: all branches have learnt from '
                f'{self.withdrawn}, so that nothing could be claimed; set training = "isolated".'
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class EmotionEvaluation:
    """Speaker-independent folds, and attacks."""

    folds: int = option(
        "Folds of speakers; 0 for one a speaker. The first fold's model is the run's. More than one needs debug telemetry, "
        "since each is one more model that nothing was charged for.",
        0,
    )
    tested_folds: int = option("How many of the folds are tested; 0 for all.", 1)
    attacks: bool = option("Attack the withdrawn modality; needs debug telemetry.", default=False)

    def __post_init__(self) -> None:
        at_least("evaluation.folds", self.folds, 0)
        at_least("evaluation.tested_folds", self.tested_folds, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmotionSimulation:
    """Settings for experiments that a deployment would not use."""

    seeded: bool = option("Draw noise from the seed: repeatable, and therefore not private.", default=False)
    threads: int = option("CPU threads of each operation; 0 leaves the choice to torch.", 0)

    def __post_init__(self) -> None:
        at_least("simulation.threads", self.threads, 0)


@TASKS.register("emotion")
@dataclass(frozen=True, slots=True, kw_only=True)
class EmotionExperiment(Experiment):
    """Emotions from several modalities, one of which is withdrawn, with a certificate of what that guarantees."""

    task: Literal["emotion"] = option("What kind of experiment this is.", "emotion")
    seed: int = option("Fixes folds, initial weights and the order of training.", 0)
    telemetry: Literal["private", "debug"] = option(
        "private writes only what the certificate covers; debug adds what the model knew before, and attacks.",
        "private",
    )
    plugins: tuple[str, ...] = option("Modules to import, which register methods of their own.", ())
    data: EmotionData = option("The recordings.")
    model: EmotionModel = option("The network.", factory=EmotionModel)
    modality: WithdrawalOptions = option("The withdrawal.", factory=WithdrawalOptions)
    evaluation: EmotionEvaluation = option("The measurements.", factory=EmotionEvaluation)
    simulation: EmotionSimulation = option("Settings for simulations.", factory=EmotionSimulation)

    def __post_init__(self) -> None:
        one_of("modality.withdrawn", self.modality.withdrawn, self.model.modalities)
        if len(self.model.modalities) == 1:
            raise ConfigError(
                f"model.modalities = {list(self.model.modalities)}: nothing would be left without "
                f"{self.modality.withdrawn}; name another modality too."
            )
        if self.telemetry == "private" and (self.evaluation.tested_folds != 1 or self.evaluation.attacks):
            raise ConfigError(
                "evaluation.tested_folds other than 1, or attacks, with private telemetry: each needs models that nothing "
                'was charged for; set telemetry = "debug", and let nothing of it out.'
            )
        if self.data.own_scale and self.modality.mode.reads_single_clips:
            raise ConfigError(
                "data.own_scale = true with a guarantee for single recordings: each track is scaled by the speaker's other "
                'recordings; set data.own_scale = false, or modality.mode.unit = "speaker".'
            )

    @property
    def num_steps(self) -> int:
        """Folds that are tested; 0 if that depends on the corpus."""
        return self.evaluation.tested_folds or self.evaluation.folds

    def run(self, path: Path, *, resume: bool = False, observer: Observer | None = None) -> dict[str, Any]:
        """See `sordino.experiments.emotion.running.run_emotion`."""
        from sordino.experiments.emotion.running import run_emotion

        return run_emotion(self, path, resume=resume, observer=observer)
