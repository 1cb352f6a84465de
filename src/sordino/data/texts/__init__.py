"""Text sets: one layout a file, read into examples with a label or a target."""

from sordino.data.texts.base import TEXTS, Example, TextSet, division

__all__ = ["TEXTS", "Example", "TextSet", "division"]
