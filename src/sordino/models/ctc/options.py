"""The ``[model]`` table of an experiment with a CTC recogniser: which one, and where it is divided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from sordino._check import at_least, positive
from sordino.config import FolderOrName, option
from sordino.errors import ConfigError
from sordino.models.ctc.units import ALPHABET

__all__ = ["CtcOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CtcOptions:
    """A recogniser in two parts: transformer layers 1 to ``split``, which all speakers share, and the rest with its head.

    Everything before the first layer is frozen, all layers and the head are trained.

    Raises:
        ConfigError: a number out of range, or words as units without a vocabulary.
    """

    base: Annotated[str, FolderOrName(reserved=("pocket",))] = option(
        '"pocket" (shipped, 0.5 M parameters), or hub id or folder of a HubertForCTC, a Wav2Vec2ForCTC, their models '
        "without an output layer, a Whisper-type model, or a recogniser saved by sordino.",
        "pocket",
    )
    layers: int | None = option("Transformer layers that are kept, counted from the first; all if not given.", None)
    split: int = option("The last layer of the speaker-independent part; the layers after it are speaker-dependent.", 1)
    units: Literal["characters", "words"] | None = option(
        "What the output layer writes. If not given: what the base's own writes, and characters for a new one.", None
    )
    vocabulary: tuple[str, ...] = option(
        "Public list of words: the units, if those are words, and all that a closed vocabulary lets through.", ()
    )
    alphabet: str = option("Characters of a new output layer that writes characters, the space among them.", ALPHABET)
    window_s: float = option("Longest piece of speech heard at once, in seconds; shorter ones are not padded.", 8.0)
    device: str = option("where the model runs: cpu, cuda, cuda:1, or auto for a GPU if there is one", "cpu")

    def __post_init__(self) -> None:
        if self.layers is not None:
            at_least("model.layers", self.layers, 1)
        at_least("model.split", self.split, 1)
        positive("model.window_s", self.window_s)
        if self.units == "words" and not self.vocabulary:
            raise ConfigError(
                'model.units = "words" with no model.vocabulary: expected the public list of words; name them, or set '
                'model.units = "characters".'
            )
