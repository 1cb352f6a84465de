"""A closed vocabulary: which symbol may follow a prefix, so that only words of a list come out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sordino.errors import ConfigError

if TYPE_CHECKING:
    from sordino.models.ctc import Units

__all__ = ["Lexicon", "Prefix"]

Prefix: TypeAlias = tuple[int, ...]
"""Places of the symbols written so far."""


class Lexicon:
    """Where the units are words, any word of the list may come at any time.

    Where they are characters, a word is spelt out from its first to its last character, and only then a space or the end
    may come.

    Args:
        words: the normalised words.
        units: what the recogniser writes.

    Raises:
        ConfigError: no word that the units can write.
    """

    def __init__(self, words: Iterable[str], units: Units) -> None:
        index = units.index
        spelt = [tuple(index.get(part, -1) for part in ([word] if units.words else word)) for word in set(words)]
        self._whole = frozenset(word for word in spelt if word and -1 not in word)
        if not self._whole:
            raise ConfigError(
                "the closed vocabulary holds 0 words that the recogniser can write: expected at least 1; correct "
                "model.vocabulary."
            )
        self._space = None if units.words else index.get(" ")
        self._words_are_symbols = units.words
        following: dict[Prefix, set[int]] = {}
        for word in self._whole:
            for place, symbol in enumerate(word):
                following.setdefault(word[:place], set()).add(symbol)
        self._following = {start: frozenset(symbols) for start, symbols in following.items()}

    def after(self, prefix: Prefix) -> frozenset[int]:
        """The symbols that may come next."""
        word = self._last_word(prefix)
        symbols = self._following.get(word, frozenset())
        return symbols | {self._space} if word in self._whole and self._space is not None else symbols

    def may_end(self, prefix: Prefix) -> bool:
        """Whether the text may stop here: behind a whole word or a space, or before anything is said."""
        word = self._last_word(prefix)
        return not word or word in self._whole

    def finished(self, prefix: Prefix) -> Prefix:
        """The prefix without an unfinished last word."""
        return prefix if self.may_end(prefix) else prefix[: len(prefix) - len(self._last_word(prefix))]

    def _last_word(self, prefix: Prefix) -> Prefix:
        """What was spelt since the last space; nothing where each symbol is a word, which ends with itself."""
        if self._words_are_symbols:
            return ()
        return prefix[_after_last(prefix, self._space) :]


def _after_last(prefix: Sequence[int], symbol: int | None) -> int:
    place = len(prefix)
    while place and prefix[place - 1] != symbol:
        place -= 1
    return place
