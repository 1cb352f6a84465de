"""What a CTC recogniser writes one of in each frame: characters, or the words of a closed vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

from sordino.errors import ConfigError

__all__ = ["ALPHABET", "Units"]

ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz' "
"""The characters of units that no vocabulary was given for."""

_FILE: Final = "units.json"
_DELIMITER: Final = "|"


@dataclass(frozen=True, slots=True)
class Units:
    """The symbols of the output layer, in order.

    Attributes:
        symbols: one text an output; ``""`` for the blank and for outputs that are never written.
        blank: index of the blank.
        words: whether each symbol is a whole word; otherwise a character, the space among them.

    Raises:
        ConfigError: no symbol, one given twice, or a blank that is not among them.
    """

    symbols: tuple[str, ...]
    blank: int
    words: bool

    def __post_init__(self) -> None:
        written = [symbol for symbol in self.symbols if symbol]
        if not written or len(set(written)) != len(written):
            raise ConfigError(
                f"the units hold {len(written)} symbols, {len(set(written))} of them different: expected at least 1, each "
                "once; correct model.vocabulary."
            )
        if not 0 <= self.blank < len(self.symbols) or self.symbols[self.blank]:
            raise ConfigError(f"the units have no blank at {self.blank}; give the place of a symbol that is empty.")

    @classmethod
    def of_characters(cls, alphabet: Iterable[str] = ALPHABET) -> Self:
        """Each character and the blank, which comes first."""
        return cls(("", *alphabet), 0, words=False)

    @classmethod
    def of_words(cls, vocabulary: Iterable[str]) -> Self:
        """Each word and the blank, which comes first."""
        return cls(("", *vocabulary), 0, words=True)

    @classmethod
    def of_tokenizer(cls, vocabulary: Mapping[str, int], *, size: int, blank: int) -> Self:
        """The characters of a checkpoint's vocabulary: ``|`` is the space, capitals are read as small letters.

        Args:
            vocabulary: place of each token; tokens behind the last output are ignored, tokens of several characters are
                never written.
            size: number of outputs.
            blank: the one that is the blank, a checkpoint's ``pad_token_id``.
        """
        symbols = [""] * size
        for token, place in vocabulary.items():
            if place < size and place != blank:
                symbols[place] = _character(token)
        return cls(tuple(symbols), blank, words=False)

    @property
    def index(self) -> Mapping[str, int]:
        """Where each symbol stands."""
        return {symbol: place for place, symbol in enumerate(self.symbols) if symbol}

    def encode(self, text: str) -> list[int]:
        """Places of a normalised text's symbols; what the units do not have is left out.

        >>> Units.of_characters("ab ").encode("ab xa")
        [1, 2, 3, 1]
        """
        index = self.index
        if self.words:
            return [index[word] for word in text.split() if word in index]
        return [index[character] for character in text if character in index]

    def unwritable(self, text: str) -> list[str]:
        """The words, or characters, of a normalised text that the units do not have."""
        index = self.index
        return [part for part in (text.split() if self.words else text) if part not in index]

    def decode(self, places: Sequence[int]) -> str:
        """The text of a sequence of places, repetitions and blanks taken out before; single spaces, none at the ends."""
        return " ".join((" " if self.words else "").join(self.symbols[place] for place in places).split())

    def frames_needed(self, text: str) -> int:
        """The fewest frames that can write a text: one a symbol, and a blank between two that are equal."""
        places = self.encode(text)
        return len(places) + sum(one == other for one, other in pairwise(places))

    def write(self, folder: Path) -> None:
        """Writes ``units.json``."""
        table = {"symbols": self.symbols, "blank": self.blank, "words": self.words}
        (folder / _FILE).write_text(json.dumps(table, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """What `write` wrote; None where there is nothing.

        Raises:
            ConfigError: damaged.
        """
        path = folder / _FILE
        if not path.is_file():
            return None
        try:
            table: Any = json.loads(path.read_text(encoding="utf-8"))
            return cls(tuple(str(symbol) for symbol in table["symbols"]), int(table["blank"]), bool(table["words"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{path} cannot be read ({error}); save the recogniser again.") from None

    def vocabulary(self) -> dict[str, int]:
        """What `of_tokenizer` reads: the characters as tokens of a checkpoint."""
        written = {_DELIMITER if symbol == " " else symbol: place for symbol, place in self.index.items()}
        never = (place for place, symbol in enumerate(self.symbols) if not symbol and place != self.blank)
        return {"<pad>": self.blank, **written, **{f"<unused{place}>": place for place in never}}


def _character(token: str) -> str:
    if token == _DELIMITER:
        return " "
    return token.lower() if len(token) == 1 else ""
