"""The experiment file of split learning: private texts, somebody else's model, noise between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sordino._check import at_least
from sordino.config import Choice, FolderOrName, option
from sordino.data.texts import TEXTS, TextSet
from sordino.errors import ConfigError
from sordino.experiments.tasks.base import TASKS
from sordino.experiments.tasks.divided import DividedExperiment, DividedPrivacy

if TYPE_CHECKING:
    from sordino.experiments.observer import Observer

__all__ = [
    "SplitAttacks",
    "SplitData",
    "SplitExperiment",
    "SplitModel",
    "SplitPrivacy",
]


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
class SplitPrivacy(DividedPrivacy):
    """What protects the texts from the server."""

    unit: Literal["token", "sequence"] = option("What the ledger's figures are about; both are stated.", "token")


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


@TASKS.register("split")
@dataclass(frozen=True, slots=True, kw_only=True)
class SplitExperiment(DividedExperiment):
    """A client with private texts uses a large model that is elsewhere, and corrects the noise that protects them."""

    task: Literal["split"] = option("What kind of experiment this is.", "split")
    data: SplitData = option("The texts.")
    model: SplitModel = option("The large model.", factory=SplitModel)
    privacy: SplitPrivacy = option("The guarantee.", factory=SplitPrivacy)
    attacks: SplitAttacks = option("Attacks on what was sent.", factory=SplitAttacks)

    def __post_init__(self) -> None:
        DividedExperiment.__post_init__(self)
        if self.training.trains_server and self.server.place != "in-process":
            raise ConfigError(
                f'training = "{self.training.name}" with server.place = "{self.server.place}": expected "in-process", '
                'since no gradient goes over the wire; choose it, or training = "client-only".'
            )
        if self.server.place == "remote" and self.model.source == "tiny":
            raise ConfigError(
                'server.place = "remote" with model.source = "tiny": expected the folder or hub id of the model that is '
                "served, from which the client reads its embedding table; give it."
            )

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence that is sent."""
        return self.data.max_tokens

    def run(self, path: Path, *, resume: bool = False, observer: Observer | None = None) -> dict[str, Any]:
        """See `sordino.experiments.split.run_split`."""
        from sordino.experiments.split import run_split

        return run_split(self, path, resume=resume, observer=observer)
