"""What experiments with a divided model have in common, whatever the client sends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from sordino._check import at_least, fraction
from sordino.config import Choice, option
from sordino.errors import ConfigError
from sordino.experiments.tasks.base import Experiment
from sordino.split.methods import METHODS, SplitMethod
from sordino.split.modes import MODES, ClientOnly, TrainingMode
from sordino.split.noise import NOISES, DChi, EmbeddingNoise
from sordino.split.noise.base import Unit

__all__ = ["DividedExperiment", "DividedPrivacy", "SplitServer", "SplitSimulation"]

_DEFAULT_METHODS = ("hidden-echo", "zero-states", "noised-embeddings")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitServer:
    """Where the large model runs."""

    place: Literal["in-process", "spawned", "remote"] = option(
        "in-process; spawned: a server process of one's own on this machine; remote: somebody's server.", "in-process"
    )
    address: str = option("host:port of a remote server.", "")
    authority: Path | None = option("PEM file of the authority that signed its certificate.", None)
    token: Path | None = option("File of the token; the environment's SORDINO_SPLIT_TOKEN where not given.", None)
    insecure: bool = option("Without TLS, for a server on a loopback address alone.", default=False)

    def __post_init__(self) -> None:
        if (self.place == "remote") != bool(self.address):
            raise ConfigError(
                f'server.place = "{self.place}" with server.address = {self.address!r}: expected an address with "remote" '
                "and none otherwise; correct one of them."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class DividedPrivacy:
    """What protects what is sent from the server; each kind of experiment has units of its own."""

    noise: Annotated[EmbeddingNoise, Choice(NOISES)] = option("Noise on the embeddings.", factory=DChi)
    unit: Unit
    delta: float = option("Probability with which an epsilon may fail.", 1e-5)

    def __post_init__(self) -> None:
        fraction("privacy.delta", self.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSimulation:
    """Settings for experiments that a deployment would not use."""

    seeded: bool = option("Draw noise from the seed: repeatable, and therefore not private.", default=False)
    threads: int = option("CPU threads of each operation; 0 leaves the choice to torch.", 0)

    def __post_init__(self) -> None:
        at_least("simulation.threads", self.threads, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DividedExperiment(Experiment):
    """A client uses a large model that is elsewhere; each kind says what is sent, and of what model."""

    task: str
    seed: int = option("Fixes how the data is divided, initial weights and the order of training.", 0)
    telemetry: Literal["private", "debug"] = option(
        "debug measures methods and attacks on private test data; private trains the first method and measures none.",
        "private",
    )
    plugins: tuple[str, ...] = option("Modules to import, which register methods of their own.", ())
    data: Any
    model: Any
    server: SplitServer = option("Where the model runs.", factory=SplitServer)
    training: Annotated[TrainingMode, Choice(MODES)] = option(
        "How the client's network is trained.", factory=ClientOnly
    )
    methods: tuple[Annotated[SplitMethod, Choice(METHODS)], ...] = option(
        "What is trained and compared; the first one is kept.",
        factory=lambda: tuple(METHODS.get(name)() for name in _DEFAULT_METHODS),
    )
    privacy: DividedPrivacy
    attacks: Any
    simulation: SplitSimulation = option("Settings for simulations.", factory=SplitSimulation)

    def __post_init__(self) -> None:
        names = [method.name for method in self.methods]
        if not names or len(set(names)) != len(names):
            raise ConfigError(f"methods = {names!r}: expected different methods, at least one; name each once.")
        if self.server.place == "remote" and self.model.layers is None:
            raise ConfigError(
                'server.place = "remote": expected model.layers, since the layer filter needs the model at hand; give them.'
            )

    @property
    def num_steps(self) -> int:
        """Methods."""
        return len(self.methods) if self.telemetry == "debug" else 1
