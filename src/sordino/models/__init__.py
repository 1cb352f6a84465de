"""Speech-LLMs: an audio encoder, a connector and a text decoder, with adapters laid out in one flat vector.

Importing the room costs nothing: torch and transformers are loaded with the first name that needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sordino.models.connectors import CONNECTORS, Connector
from sordino.models.options import LoraOptions, ModelOptions

if TYPE_CHECKING:
    from sordino.models.adapters import load_adapter, save_adapter
    from sordino.models.flat import FlatParameters
    from sordino.models.generation import Transcription
    from sordino.models.loading import load_model, load_trained, model_shapes, save_base
    from sordino.models.speech_llm import SpeechLLM

__all__ = [
    "CONNECTORS",
    "Connector",
    "FlatParameters",
    "LoraOptions",
    "ModelOptions",
    "SpeechLLM",
    "Transcription",
    "load_adapter",
    "load_model",
    "load_trained",
    "model_shapes",
    "save_adapter",
    "save_base",
]

_HOMES = {
    "FlatParameters": "flat",
    "SpeechLLM": "speech_llm",
    "Transcription": "generation",
    "load_adapter": "adapters",
    "load_model": "loading",
    "load_trained": "loading",
    "model_shapes": "loading",
    "save_adapter": "adapters",
    "save_base": "loading",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
