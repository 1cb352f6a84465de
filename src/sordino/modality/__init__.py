"""Modalities that can be missing, and be withdrawn: branches, modes of withdrawal, budgets and certificates.

Modes and options are here without torch; everything else is imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sordino.modality.budgets import BUDGETS, Budget, Demand
from sordino.modality.modes import MODES, Mode, Withdrawal
from sordino.modality.options import BackOff, TrainingOptions

if TYPE_CHECKING:
    from sordino.modality.case import Case, make_case, never_exposed
    from sordino.modality.hashing import file_fingerprint, fingerprint
    from sordino.modality.incision import Incision
    from sordino.modality.ownership import Part, owners, stage_parts, tier_parts
    from sordino.modality.saliency import Subspace, clip_gradients, public_saliency, public_subspace
    from sordino.modality.training import train_branch, train_jointly

_LATER = {
    "case": ("Case", "make_case", "never_exposed"),
    "hashing": ("file_fingerprint", "fingerprint"),
    "ownership": ("Part", "owners", "stage_parts", "tier_parts"),
    "saliency": ("Subspace", "clip_gradients", "public_saliency", "public_subspace"),
    "incision": ("Incision",),
    "training": ("train_branch", "train_jointly"),
}

__all__ = [
    "BUDGETS",
    "MODES",
    "BackOff",
    "Budget",
    "Case",
    "Demand",
    "Incision",
    "Mode",
    "Part",
    "Subspace",
    "TrainingOptions",
    "Withdrawal",
    "clip_gradients",
    "file_fingerprint",
    "fingerprint",
    "make_case",
    "never_exposed",
    "owners",
    "public_saliency",
    "public_subspace",
    "stage_parts",
    "tier_parts",
    "train_branch",
    "train_jointly",
]


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
