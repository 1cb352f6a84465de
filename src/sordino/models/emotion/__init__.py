"""Emotion from whatever is present: a branch for each modality, whose contributions are added.

Options are here without torch; everything else is imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sordino.models.emotion.options import STAGES, BranchOptions

if TYPE_CHECKING:
    from sordino.models.emotion.branch import Branch
    from sordino.models.emotion.clips import Clips
    from sordino.models.emotion.frozen import FrozenSpeech, FrozenText
    from sordino.models.emotion.network import EmotionNetwork
    from sordino.models.emotion.pooling import pool

__all__ = ["STAGES", "Branch", "BranchOptions", "Clips", "EmotionNetwork", "FrozenSpeech", "FrozenText", "pool"]

_HOMES = {
    "Branch": "branch",
    "Clips": "clips",
    "EmotionNetwork": "network",
    "FrozenSpeech": "frozen",
    "FrozenText": "frozen",
    "pool": "pooling",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
