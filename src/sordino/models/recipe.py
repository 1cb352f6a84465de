"""What a speech-LLM is made of, before any weight is read, and the folder that a ready one is kept in.

FOLDER/speech_llm.json         window, prompt and connector options
FOLDER/encoder/                a Whisper encoder as transformers saves it
FOLDER/connector.safetensors
FOLDER/decoder/                a causal language model and its tokenizer as transformers saves them
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from sordino._check import positive
from sordino.config import Choice, build, dump, option
from sordino.errors import ConfigError
from sordino.models import pocket
from sordino.models.connectors import CONNECTORS, Connector
from sordino.models.connectors.linear import Linear
from sordino.models.options import ModelOptions
from sordino.models.voxtral import require_voxtral

__all__ = ["DEFAULT_PROMPT", "BaseSettings", "Recipe"]

DEFAULT_PROMPT: Final = "Transcribe the speech to text."
"""Prompt of a model assembled from an encoder and a decoder."""

_SETTINGS: Final = "speech_llm.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSettings:
    """What a ready model's weights were trained with and only fit with; the content of ``speech_llm.json``."""

    window_s: float = option("seconds of audio the encoder sees at once")
    prompt: str = option("text between the audio and the transcript")
    connector: Annotated[Connector, Choice(CONNECTORS)] = option("what joins encoder and decoder")

    def __post_init__(self) -> None:
        positive("window_s", self.window_s)

    @classmethod
    def read(cls, folder: Path) -> BaseSettings:
        """Reads a base folder's settings; raises ConfigError when it is no such folder."""
        path = folder / _SETTINGS
        try:
            table: Any = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read ({error}); make the base folder again.") from None
        return build(cls, table, at=_SETTINGS)

    def write(self, folder: Path) -> None:
        """Writes ``speech_llm.json``."""
        (folder / _SETTINGS).write_text(json.dumps(dump(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Where each part comes from, with everything the options leave open filled in.

    Attributes:
        encoder: hub id or folder.
        decoder: hub id or folder, also of the tokenizer.
        connector: None for a Voxtral, which has its own and is both encoder and decoder.
        connector_weights: safetensors file, or None for a connector that starts from scratch.
        window_s: seconds, or None for the encoder's full window.
    """

    encoder: str
    decoder: str
    connector: Connector | None
    connector_weights: Path | None
    window_s: float | None
    prompt: str

    @classmethod
    def of(cls, options: ModelOptions) -> Recipe:
        """The recipe that ``options`` describe; raises ConfigError when the base is none."""
        folder = pocket.FOLDER if options.base == "pocket" else Path(options.base or "").expanduser()
        if options.base is None or not (folder / _SETTINGS).is_file():
            if options.base is not None:
                require_voxtral(options.base)
            return cls(
                encoder=options.base or str(options.encoder),
                decoder=options.base or str(options.decoder),
                connector=None if options.base else options.connector or Linear(),
                connector_weights=None,
                window_s=options.window_s,
                prompt=DEFAULT_PROMPT if options.prompt is None else options.prompt,
            )
        options.leave_to_base()
        settings = BaseSettings.read(folder)
        return cls(
            encoder=str(folder / "encoder"),
            decoder=str(folder / "decoder"),
            connector=settings.connector,
            connector_weights=folder / "connector.safetensors",
            window_s=settings.window_s,
            prompt=settings.prompt,
        )
