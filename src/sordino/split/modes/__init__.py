"""How the client's network is trained, and what leaves it meanwhile: one mode a file, found by its registry."""

from sordino.split.modes.base import MODES, TrainingMode
from sordino.split.modes.client_only import ClientOnly

__all__ = ["MODES", "ClientOnly", "TrainingMode"]
