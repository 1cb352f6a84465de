"""The experiment file of split learning: private texts, somebody else's model, noise between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sordino._check import at_least, fraction
from sordino.config import Choice, FolderOrName, option
from sordino.data.texts import TEXTS, TextSet
from sordino.errors import ConfigError
from sordino.experiments.tasks.base import TASKS, Experiment
from sordino.split.methods import METHODS, SplitMethod
from sordino.split.modes import MODES, ClientOnly, TrainingMode
from sordino.split.noise import NOISES, DChi, EmbeddingNoise

if TYPE_CHECKING:
    from sordino.experiments.observer import Observer

__all__ = [
    "SplitAttacks",
    "SplitData",
    "SplitExperiment",
    "SplitModel",
    "SplitPrivacy",
    "SplitServer",
    "SplitSimulation",
]

_DEFAULT_METHODS = ("hidden-echo", "zero-states", "noised-embeddings")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitData:
    """Whose texts."""

    texts: Annotated[TextSet, Choice(TEXTS)] = option("Where texts and labels come from.")
    train: int = option("Private texts that the client learns from.", 300)
    test: int = option("Private texts that it is tested on.", 150)
    public: int = option(
        "Texts that protect nobody: a denoiser is pretrained on them, and an attacker learns from them.", 150
    )
    max_tokens: int = option("Texts are cut to this many tokens.", 48)

    def __post_init__(self) -> None:
        for name in ("train", "test", "public"):
            at_least(f"data.{name}", getattr(self, name), 2)
        at_least("data.max_tokens", self.max_tokens, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitModel:
    """The large model, and what comes back of it."""

    source: Annotated[str, FolderOrName(reserved=("tiny",))] = option(
        "Folder or hub id of a model of Llama's, Qwen's or T5's type, or \"tiny\": random weights, made in the run folder.",
        "tiny",
    )
    layers: tuple[int, ...] | None = option(
        "Blocks whose outputs come back, counted from 1; chosen by integrated gradients if not given.", None
    )
    keep: int = option("How many blocks the layer filter keeps.", 4)
    calibration: int = option("Training texts that the layer filter looks at, noised.", 8)
    reduction: int = option("r: the server shortens states of width d to d/r.", 8)

    def __post_init__(self) -> None:
        for name in ("keep", "calibration", "reduction"):
            at_least(f"model.{name}", getattr(self, name), 1)


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
class SplitPrivacy:
    """What protects the texts from the server."""

    noise: Annotated[EmbeddingNoise, Choice(NOISES)] = option("Noise on the embeddings.", factory=DChi)
    unit: Literal["token", "sequence"] = option("What the ledger's figures are about; both are stated.", "token")
    delta: float = option("Probability with which an epsilon may fail.", 1e-5)

    def __post_init__(self) -> None:
        fraction("privacy.delta", self.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAttacks:
    """Attacks on what was sent; they need debug telemetry."""

    repeats: tuple[int, ...] = option("Draws that a server averages if a client drew anew at every query.", (4, 16))
    tokens: int = option("Tokens of the test texts that are attacked; 0 for all.", 2000)
    learned: bool = option("Train an inverter on the public texts.", default=True)
    attribute: str = option(
        'What is read off whole texts: "label", an attribute of the text set, or nothing ("").', "label"
    )

    def __post_init__(self) -> None:
        at_least("attacks.tokens", self.tokens, 0)
        for times in self.repeats:
            at_least("attacks.repeats", times, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSimulation:
    """Settings for experiments that a deployment would not use."""

    seeded: bool = option("Draw noise from the seed: repeatable, and therefore not private.", default=False)
    threads: int = option("CPU threads of each operation; 0 leaves the choice to torch.", 0)

    def __post_init__(self) -> None:
        at_least("simulation.threads", self.threads, 0)


@TASKS.register("split")
@dataclass(frozen=True, slots=True, kw_only=True)
class SplitExperiment(Experiment):
    """A client with private texts uses a large model that is elsewhere, and corrects the noise that protects them."""

    task: Literal["split"] = option("What kind of experiment this is.", "split")
    seed: int = option("Fixes the division of the texts, initial weights and the order of training.", 0)
    telemetry: Literal["private", "debug"] = option(
        "debug measures methods and attacks on the private test texts; private trains the first method and measures none.",
        "private",
    )
    plugins: tuple[str, ...] = option("Modules to import, which register methods of their own.", ())
    data: SplitData = option("The texts.")
    model: SplitModel = option("The large model.", factory=SplitModel)
    server: SplitServer = option("Where it runs.", factory=SplitServer)
    training: Annotated[TrainingMode, Choice(MODES)] = option(
        "How the client's network is trained.", factory=ClientOnly
    )
    methods: tuple[Annotated[SplitMethod, Choice(METHODS)], ...] = option(
        "What is trained and compared; the first one is kept.",
        factory=lambda: tuple(METHODS.get(name)() for name in _DEFAULT_METHODS),
    )
    privacy: SplitPrivacy = option("The guarantee.", factory=SplitPrivacy)
    attacks: SplitAttacks = option("Attacks on what was sent.", factory=SplitAttacks)
    simulation: SplitSimulation = option("Settings for simulations.", factory=SplitSimulation)

    def __post_init__(self) -> None:
        names = [method.name for method in self.methods]
        if not names or len(set(names)) != len(names):
            raise ConfigError(f"methods = {names!r}: expected different methods, at least one; name each once.")
        if self.training.trains_server and self.server.place != "in-process":
            raise ConfigError(
                f'training = "{self.training.name}" with server.place = "{self.server.place}": expected "in-process", '
                'since no gradient goes over the wire; choose it, or training = "client-only".'
            )
        if self.server.place == "remote" and (self.model.layers is None or self.model.source == "tiny"):
            raise ConfigError(
                'server.place = "remote": expected model.layers, since the layer filter needs the model at hand, and '
                "model.source, from which the client reads its embedding table; give both."
            )

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence that is sent."""
        return self.data.max_tokens

    @property
    def num_steps(self) -> int:
        """Methods."""
        return len(self.methods) if self.telemetry == "debug" else 1

    def run(self, path: Path, *, resume: bool = False, observer: Observer | None = None) -> dict[str, Any]:
        """See `sordino.experiments.split.run_split`."""
        from sordino.experiments.split import run_split

        return run_split(self, path, resume=resume, observer=observer)
