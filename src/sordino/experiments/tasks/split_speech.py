"""The experiment file of split learning with speech: private recordings, somebody else's Whisper, noise between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from sordino._check import at_least, positive
from sordino.config import Choice, FolderOrName, option
from sordino.data.corpus import CORPORA, Corpus
from sordino.errors import ConfigError
from sordino.experiments.tasks.base import TASKS
from sordino.experiments.tasks.divided import DividedExperiment, DividedPrivacy
from sordino.models.ctc import ALPHABET

if TYPE_CHECKING:
    from sordino.experiments.observer import Observer

__all__ = [
    "TEXT",
    "SpeechAttacks",
    "SpeechData",
    "SpeechModel",
    "SpeechPrivacy",
    "SplitSpeechExperiment",
]

TEXT: Final = "text"
"""Value of ``data.target`` that asks for what is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechData:
    """Whose recordings, and what is to be told of them."""

    corpus: Annotated[Corpus, Choice(CORPORA)] = option("Where recordings come from.")
    target: str = option(
        'What is told of a recording: an attribute that the corpus gives, such as "emotion", or "text" for what is said.',
        TEXT,
    )
    public_speakers: int = option(
        "Training speakers whose recordings protect nobody: the centre of the frames is theirs, a denoiser is pretrained on "
        "them, and an attacker learns from them.",
        2,
    )
    train: int = option("Private recordings that the client learns from; 0 for all.", 0)
    test: int = option("Private recordings that it is tested on; 0 for all.", 0)
    public: int = option("Recordings of the public speakers; 0 for all.", 0)
    window_s: float = option("The longest recording, in seconds; longer ones are left out.", 8.0)
    units: Literal["characters", "words"] = option('What is written where target = "text".', "characters")
    vocabulary: tuple[str, ...] = option('Public list of words, where units = "words".', ())
    alphabet: str = option('Characters that can be written, where units = "characters".', ALPHABET)

    def __post_init__(self) -> None:
        at_least("data.public_speakers", self.public_speakers, 1)
        for name in ("train", "test", "public"):
            at_least(f"data.{name}", getattr(self, name), 0)
        positive("data.window_s", self.window_s)
        if (self.units == "words") != bool(self.vocabulary):
            raise ConfigError(
                f'data.units = "{self.units}" with {len(self.vocabulary)} words in data.vocabulary: expected the list '
                'of words with units = "words", and none otherwise; correct one of them.'
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechModel:
    """The Whisper, where it is divided, and what comes back of it."""

    source: Annotated[str, FolderOrName(reserved=("pocket",))] = option(
        'Folder or hub id of a Whisper-type model, or "pocket": the shipped encoder of 3 layers.', "pocket"
    )
    client_layers: int = option(
        "Layers that the client keeps, besides the convolutions; a remote server must have been started with as many.",
        0,
    )
    layers: tuple[int, ...] | None = option(
        "Blocks of the server whose outputs come back, counted from 1; chosen by integrated gradients if not given.",
        None,
    )
    keep: int = option("How many blocks the layer filter keeps.", 2)
    calibration: int = option("Training recordings that the layer filter looks at, noised.", 4)
    reduction: int = option("r: the server shortens states of width d to d/r.", 4)

    def __post_init__(self) -> None:
        at_least("model.client_layers", self.client_layers, 0)
        for name in ("keep", "calibration", "reduction"):
            at_least(f"model.{name}", getattr(self, name), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechPrivacy(DividedPrivacy):
    """What protects the recordings from the server."""

    unit: Literal["frame", "recording"] = option(
        "What the ledger's figures are about; both are stated. What is said is protected by that of a recording alone.",
        "recording",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechAttacks:
    """Attacks on what was sent; they need debug telemetry."""

    attributes: tuple[str, ...] = option(
        'What is read off whole recordings: "speaker", "text" where few texts are said, or attributes of the corpus.',
        ("speaker",),
    )
    spectrum: bool = option("Rebuild the spectrum from the frames, after public recordings.", default=True)
    repeats: tuple[int, ...] = option(
        "Draws that a server averages for the spectrum if a client drew anew at every query.", (4, 16)
    )
    own_head: bool = option(
        "Train a head of the attacker's own on public recordings, and read the target of the private ones.",
        default=True,
    )

    def __post_init__(self) -> None:
        if len(set(self.attributes)) != len(self.attributes):
            raise ConfigError(f"attacks.attributes = {list(self.attributes)}: expected different ones; name each once.")
        for times in self.repeats:
            at_least("attacks.repeats", times, 1)


@TASKS.register("split-speech")
@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSpeechExperiment(DividedExperiment):
    """A client with private recordings uses a Whisper that is elsewhere, and corrects the noise that protects them."""

    task: Literal["split-speech"] = option("What kind of experiment this is.", "split-speech")
    data: SpeechData = option("The recordings.")
    model: SpeechModel = option("The Whisper.", factory=SpeechModel)
    privacy: SpeechPrivacy = option("The guarantee.", factory=SpeechPrivacy)
    attacks: SpeechAttacks = option("Attacks on what was sent.", factory=SpeechAttacks)

    def __post_init__(self) -> None:
        DividedExperiment.__post_init__(self)
        if self.training.trains_server:
            raise ConfigError(
                f'training = "{self.training.name}" with task = "{self.name}": expected "client-only", since modes in which '
                'the server learns are for texts; set training = "client-only".'
            )

    def run(self, path: Path, *, resume: bool = False, observer: Observer | None = None) -> dict[str, Any]:
        """See `sordino.experiments.split_speech.run_split_speech`."""
        from sordino.experiments.split_speech import run_split_speech

        return run_split_speech(self, path, resume=resume, observer=observer)
