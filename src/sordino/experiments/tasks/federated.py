"""The experiment file of a federated speech-LLM: the tables of all rooms it is composed of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from sordino._check import at_least
from sordino.config import Choice, option
from sordino.data import CORPORA, PARTITIONS, BySpeaker, Corpus, Partition
from sordino.errors import ConfigError
from sordino.experiments.tasks.base import TASKS, Experiment
from sordino.federated.options import FederatedOptions
from sordino.models import ModelOptions
from sordino.privacy import PrivacyOptions

if TYPE_CHECKING:
    from sordino.experiments.observer import Observer
    from sordino.experiments.on_flower.halves import Halves

__all__ = ["DISK", "DataOptions", "EvaluationOptions", "FederatedExperiment", "SimulationOptions"]


DISK: Final = (
    "Room in sordino's cache folder, in 10^6 bytes, where what was computed of clips outlives memory and run: speech in "
    "another form, readable by this user alone. 0: nothing is written; speed only."
)
"""What ``disk_mb`` is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """Whose speech, and who holds it."""

    corpus: Annotated[Corpus, Choice(CORPORA)] = option("Where utterances come from.")
    partition: Annotated[Partition, Choice(PARTITIONS)] = option(
        "How they are dealt out to clients.", factory=BySpeaker
    )
    memory_mb: float = option(
        "Memory for what is computed of clips once, log-mels or a frozen encoder's output, in 10^6 bytes; speed only.",
        512.0,
    )
    disk_mb: float = option(DISK, 0.0)

    def __post_init__(self) -> None:
        at_least("data.memory_mb", self.memory_mb, 0)
        at_least("data.disk_mb", self.disk_mb, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """When and how the word error rate is measured."""

    every: int = option("Rounds between measurements; 0 measures before and after only.", 0)
    batch_size: int = option("Clips decoded together; changes the speed only.", 64)

    def __post_init__(self) -> None:
        at_least("evaluation.every", self.every, 0)
        at_least("evaluation.batch_size", self.batch_size, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOptions:
    """Settings for experiments that a deployment would not use."""

    seeded: bool = option("Draw cohorts and noise from the seed: repeatable, and therefore not private.", default=False)
    threads: int = option("CPU threads of each operation; 0 leaves the choice to torch.", 0)
    workers: int = option("Clients trained side by side, each on a copy of the model; changes the speed only.", 1)
    devices: tuple[str, ...] = option(
        "Where those copies lie, in turn, such as cuda:0 and cuda:1; all on model.device if not given.", ()
    )

    def __post_init__(self) -> None:
        at_least("simulation.threads", self.threads, 0)
        at_least("simulation.workers", self.workers, 1)
        if len(self.devices) > self.workers:
            raise ConfigError(
                f"simulation.workers = {self.workers} with {len(self.devices)} simulation.devices: expected a worker on "
                f"each; set simulation.workers = {len(self.devices)}, or shorten the list."
            )
        kinds = {_kind(device) for device in self.devices}
        if len(kinds) > 1:
            raise ConfigError(
                f"simulation.devices = {list(self.devices)}: expected devices of one kind, since a client trains on "
                "whichever is free and other kinds round otherwise, so that no run could be repeated; remove the others."
            )

    def places(self, default: str) -> tuple[str, ...]:
        """The device of each worker, given the one that the model would lie on without `devices`."""
        return tuple(islice(cycle(self.devices or (default,)), self.workers))

    def shares_a_device(self, default: str) -> bool:
        """Whether two workers lie on one device, which has one stream of dropout masks."""
        streams = {_kind(place) if _kind(place) == "cpu" else _numbered(place) for place in self.places(default)}
        return len(streams) < self.workers


def _kind(device: str) -> str:
    return device.partition(":")[0]


def _numbered(device: str) -> str:
    return f"{_kind(device)}:{device.partition(':')[2] or 0}"


@TASKS.register("federated")
@dataclass(frozen=True, slots=True, kw_only=True)
class FederatedExperiment(Experiment):
    """A speech-LLM adapted to many speakers by federated learning under component-aware differential privacy."""

    task: Literal["federated"] = option("What kind of experiment this is.", "federated")
    seed: int = option("Fixes data, initial adapters and the order of local training.", 0)
    telemetry: Literal["private", "debug"] = option(
        "private writes only what the guarantee covers; debug adds losses, norms and cohort sizes.", "private"
    )
    plugins: tuple[str, ...] = option("Modules to import, which register methods of their own.", ())
    data: DataOptions = option("The recordings.")
    model: ModelOptions = option("The speech-LLM.", factory=ModelOptions)
    federated: FederatedOptions = option("The federation.", factory=FederatedOptions)
    privacy: PrivacyOptions = option("The guarantee.")
    evaluation: EvaluationOptions = option("The measurements.", factory=EvaluationOptions)
    simulation: SimulationOptions = option("Settings for simulations.", factory=SimulationOptions)

    def __post_init__(self) -> None:
        if self.model.lora.dropout > 0 and self.simulation.shares_a_device(self.model.device):
            raise ConfigError(
                f"simulation.workers = {self.simulation.workers} with model.lora.dropout = {self.model.lora.dropout}: the "
                "workers of one device would share its stream of dropout masks and no run could be repeated; set one of "
                "them back, or give each worker a device of its own by simulation.devices."
            )
        if self.federated.method.personal_models:
            raise ConfigError(
                f"federated.method = {self.federated.method.name!r} gives every client a model of its own: expected a "
                'method with one model for all, which is what this task measures; set "fedavg", "fedprox" or "fednova", or '
                'task = "personalised".'
            )

    @property
    def num_steps(self) -> int:
        """Rounds."""
        return self.federated.rounds

    def run(self, path: Path, *, resume: bool = False, observer: Observer | None = None) -> dict[str, Any]:
        """See `sordino.experiments.run_federated`."""
        from sordino.experiments.federated import run_federated

        return run_federated(self, path, resume=resume, observer=observer)

    def on_flower(self) -> Halves:
        """See `sordino.experiments.on_flower.federated`."""
        from sordino.experiments.on_flower.federated import FederatedHalves

        return FederatedHalves(self)
