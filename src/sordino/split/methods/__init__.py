"""Ways to use a large model that is elsewhere, and the controls that they are measured against: one a file."""

from sordino.split.methods.base import METHODS, Fitted, Scene, SplitMethod

__all__ = ["METHODS", "Fitted", "Scene", "SplitMethod"]
