"""CTC recognisers: a frozen front, transformer layers in two parts, and an output layer over characters or words.

Importing the room costs nothing: torch and transformers are loaded with the first name that needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sordino.models.ctc.options import CtcOptions
from sordino.models.ctc.units import ALPHABET, Units

if TYPE_CHECKING:
    from sordino.models.ctc.loading import load_recogniser
    from sordino.models.ctc.parts import FRAMES_PER_S, Front
    from sordino.models.ctc.recogniser import SD, SI, Frames, Outputs, Recogniser

__all__ = [
    "ALPHABET",
    "FRAMES_PER_S",
    "SD",
    "SI",
    "CtcOptions",
    "Frames",
    "Front",
    "Outputs",
    "Recogniser",
    "Units",
    "load_recogniser",
]

_HOMES = {
    "FRAMES_PER_S": "parts",
    "SD": "recogniser",
    "SI": "recogniser",
    "Frames": "recogniser",
    "Front": "parts",
    "Outputs": "recogniser",
    "Recogniser": "recogniser",
    "load_recogniser": "loading",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
