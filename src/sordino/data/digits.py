"""Digits as words, in several languages: the text that synthetic voices say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from sordino._check import one_of

__all__ = ["DIGITS", "digit_string"]

DIGITS: Final[Mapping[str, tuple[str, ...]]] = {
    "en": ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    "de": ("null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"),
    "fr": ("zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"),
    "es": ("cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve"),
    "it": ("zero", "uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove"),
    "nl": ("nul", "één", "twee", "drie", "vier", "vijf", "zes", "zeven", "acht", "negen"),
}
"""The words for 0 to 9 by language, lower case, in that language's spelling."""


def digit_string(language: str, rng: np.random.Generator, *, low: int = 1, high: int = 4) -> str:
    """Between ``low`` and ``high`` digit words, each drawn uniformly, joined by spaces.

    Raises:
        ConfigError: no digit words are known for ``language``.
    """
    words = DIGITS[one_of("language", language, DIGITS)]
    return " ".join(words[digit] for digit in rng.integers(0, 10, size=rng.integers(low, high + 1)))
