"""Published architectures whose configs are kept here, so that planning needs neither weights nor a network.

The folders beside this file hold sizes only, as transformers' ``config.json``. A model is always loaded from its source.

Source: the models' pages on the Hugging Face hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["KEPT", "config_source"]

_FOLDER: Final = Path(__file__).parent / "architectures"

KEPT: Final[Mapping[str, str]] = {
    "openai/whisper-tiny.en": "whisper-tiny.en",
    "openai/whisper-large-v3-turbo": "whisper-large-v3-turbo",
    "HuggingFaceTB/SmolLM2-135M-Instruct": "smollm2-135m",
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": "tinyllama-1.1b",
    "utter-project/EuroLLM-1.7B-Instruct": "eurollm-1.7b",
    "mistralai/Voxtral-Mini-3B-2507": "voxtral-mini-3b",
}
"""Hub id of each, and its folder."""


def config_source(source: str) -> str:
    """Where to read a model's sizes: the kept config of a known hub id, otherwise ``source`` itself."""
    return str(_FOLDER / KEPT[source]) if source in KEPT else source
