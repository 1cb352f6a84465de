"""One text normaliser for references, hypotheses and training transcripts: spelling conventions cost no errors."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["normalise"]

_APOSTROPHES: Final = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u2032\uff07\u00b4`"), "'")
"""Curly, reversed, modifier-letter, prime and full-width forms, and the two accents typed in its place."""

_STRAY_APOSTROPHE: Final = re.compile(r"(?<![^\s'])'|'(?![^\s'])")
"""An apostrophe without a word character on both sides: a quotation mark, or a spelling such as "dogs'"."""

_FRENCH_ELISION: Final = re.compile(r"(?<!\S)(l|d|j|m|t|s|n|c|qu|jusqu|lorsqu|puisqu|quoiqu)'\s+(?=[^\s'])")


def normalise(text: str, language: str = "") -> str:
    """Spells ``text`` as it is scored: lower case, words and single spaces, nothing else.

    1. Invisible formatting (soft hyphens, joiners) is dropped; Unicode NFC; every apostrophe becomes ``'``.
    2. Lower case. ``ß`` stays ``ß``; in Turkish and Azeri ``I`` becomes ``ı`` and ``İ`` becomes ``i``.
    3. Letters, their marks, digits and word-internal apostrophes stay; any other character, hyphens and dashes of all
       kinds among them, separates words.
    4. In French an elision written apart is joined (``l' homme`` is ``l'homme``, one word).

    Numbers are not spelt out: "3" and "three" differ. Applying it twice changes nothing.

    Args:
        text: any text.
        language: BCP 47 tag, of which the first part counts: ``"tr"``, ``"fr-CA"``. Empty where unknown.
    """
    primary = re.split(r"[-_]", language.lower(), maxsplit=1)[0]
    visible = "".join(char for char in text if unicodedata.category(char) != "Cf")
    lowered = _lower(unicodedata.normalize("NFC", visible).translate(_APOSTROPHES), primary)
    spaced = "".join(char if char == "'" or unicodedata.category(char)[0] in "LMN" else " " for char in lowered)
    if primary == "fr":
        spaced = _FRENCH_ELISION.sub(r"\1'", spaced)
    return " ".join(_STRAY_APOSTROPHE.sub(" ", spaced).split())


def _lower(text: str, language: str) -> str:
    if language in ("tr", "az"):
        text = text.replace("İ", "i").replace("I", "ı")
    # Elsewhere str.lower makes "i" and a combining dot of "İ"; an "i" has its dot already.
    return unicodedata.normalize("NFC", re.sub("i\u0307+", "i", text.lower()))
