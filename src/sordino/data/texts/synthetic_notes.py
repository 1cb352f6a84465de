"""Made-up notes about made-up people: for examples and tests that need texts, labels and a secret, and no download."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sordino._check import at_least
from sordino.config import option
from sordino.data.texts.base import TEXTS, Example, TextSet
from sordino.seeds import Seeds

__all__ = ["SyntheticNotes"]

_NAMES: Final = ("anna", "boris", "chen", "dora", "emil", "fatima", "gus", "hana", "ivo", "jana", "karl", "lina")
_TOWNS: Final = ("bergen", "graz", "lublin", "porto", "turku", "verona")
_MOODS: Final[Mapping[str, tuple[str, ...]]] = {
    "better": ("slept well", "felt rested", "walked far", "ate with joy", "laughed a lot", "had no pain"),
    "worse": ("slept badly", "felt dizzy", "could hardly walk", "ate nothing", "wept a lot", "had strong pain"),
}
_WHEN: Final = ("today", "yesterday", "last night", "this week", "on monday", "after lunch")
_TURNS: Final = ("and", "then", "but also", "and again")
_OPPOSITE: Final = {"better": "worse", "worse": "better"}


@TEXTS.register("synthetic-notes")
@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticNotes(TextSet):
    """Short notes on how somebody is doing: ``better`` or ``worse``; whose note it is and from which town are secrets.

    Each tells of two or three things, of which now and then one goes the other way, so that the label needs the whole note.
    To be written of it is who feels how: ``anna from graz feels worse today``.
    """

    count: int = option("How many notes.", 600)
    seed: int = option("Which notes.", 0)

    def __post_init__(self) -> None:
        at_least("data.texts.count", self.count, 1)

    def read(self) -> Iterator[Example]:
        """See `TextSet.read`."""
        random = Seeds(self.seed).at("synthetic notes").generator()
        seen: set[str] = set()
        while len(seen) < self.count:
            label = sorted(_MOODS)[int(random.integers(2))]
            name, town, when, turn, again = (random.choice(words) for words in (_NAMES, _TOWNS, _WHEN, _TURNS, _TURNS))
            first, third = random.choice(_MOODS[label], 2, replace=False)
            second = random.choice(_MOODS[_OPPOSITE[label] if random.random() < 0.4 else label])
            text = f"{name} from {town} {first} {when} {turn} {second} {again} {third}"
            if text not in seen:
                seen.add(text)
                attributes = {"name": str(name), "town": str(town)}
                target = f"{name} from {town} feels {label} today"
                yield Example(text=text, label=label, target=target, attributes=attributes)
