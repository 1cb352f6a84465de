"""The experiment file of an emotion model that speakers train together without giving their recordings away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sordino._check import at_least, fraction
from sordino.config import option
from sordino.errors import ConfigError
from sordino.experiments.tasks.base import TASKS, Experiment
from sordino.experiments.tasks.emotion import EmotionData, EmotionModel, EmotionSimulation
from sordino.federated.options import FederatedOptions
from sordino.modality import TrainingOptions
from sordino.privacy import PrivacyOptions

if TYPE_CHECKING:
    from sordino.experiments.observer import Observer

__all__ = ["FederatedEmotionExperiment"]


@TASKS.register("federated-emotion")
@dataclass(frozen=True, slots=True, kw_only=True)
class FederatedEmotionExperiment(Experiment):
    """Emotions from several modalities, learnt by federated rounds in which each speaker is a client.

    The network starts from what public speakers teach it. Each modality's branch is a component, so that allocations treat
    modalities as they treat encoder and decoder; clips lack modalities by chance while training.
    """

    task: Literal["federated-emotion"] = option("What kind of experiment this is.", "federated-emotion")
    seed: int = option("Fixes folds, initial weights and the order of training.", 0)
    telemetry: Literal["private", "debug"] = option(
        "private writes only what the guarantee covers; debug adds how well clients are served by their own models.",
        "private",
    )
    plugins: tuple[str, ...] = option("Modules to import, which register methods of their own.", ())
    data: EmotionData = option("The recordings.")
    model: EmotionModel = option("The network.", factory=EmotionModel)
    start: TrainingOptions = option("How the network is trained on public speakers before.", factory=TrainingOptions)
    absence_rate: float = option("Chance that a clip lacks one of its modalities in a step.", 0.5)
    folds: int = option("Folds of speakers, of which the first is tested; 0 for one a speaker.", 3)
    federated: FederatedOptions = option("The federation.", factory=FederatedOptions)
    privacy: PrivacyOptions = option("The guarantee.")
    simulation: EmotionSimulation = option("Settings for simulations.", factory=EmotionSimulation)

    def __post_init__(self) -> None:
        fraction("absence_rate", self.absence_rate, zero=True)
        at_least("folds", self.folds, 0)
        if self.federated.method.personal_models and self.telemetry == "private":
            raise ConfigError(
                f"federated.method = {self.federated.method.name!r} with private telemetry: how well clients are served by "
                'models of their own is measured on their own speech, which no guarantee covers; set telemetry = "debug".'
            )

    @property
    def num_steps(self) -> int:
        """Rounds."""
        return self.federated.rounds

    def run(self, path: Path, *, resume: bool = False, observer: Observer | None = None) -> dict[str, Any]:
        """See `sordino.experiments.emotion.federation.run_federated_emotion`."""
        from sordino.experiments.emotion.federation import run_federated_emotion

        return run_federated_emotion(self, path, resume=resume, observer=observer)
