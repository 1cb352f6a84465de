"""Ways to withdraw a modality: deleted, hidden by noise while training or after it, or as published."""

from sordino.modality.modes.base import MODES, Mode, Withdrawal

__all__ = ["MODES", "Mode", "Withdrawal"]
