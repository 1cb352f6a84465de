"""What a text set is: something that gives examples, and how they are divided into sets of the sizes wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from sordino._registry import Registry
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds

__all__ = ["TEXTS", "Example", "TextSet", "division", "readable_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One text.

    Attributes:
        text: what is private.
        label: what is to be told of it; empty where the task is to write.
        second: another text that the label relates it to, as in paraphrases.
        target: what is to be written of it: a summary, a translation.
        split: ``train`` or ``test`` where the set itself says so.
        attributes: what an attacker might want to know besides.
    """

    text: str
    label: str = ""
    second: str = ""
    target: str = ""
    split: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


class TextSet(ABC):
    """A set of texts; a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    @abstractmethod
    def read(self) -> Iterator[Example]:
        """All examples, in an order that is always the same.

        Raises:
            ConfigError: an option names something that is not there.
            DataError: a file is not laid out as this set is.
        """


TEXTS: Registry[TextSet] = Registry("text set", package="sordino.data.texts")
"""All text sets, by name."""


def division(examples: Sequence[Example], *, sizes: Mapping[str, int], seeds: Seeds) -> dict[str, list[Example]]:
    """Deals examples out to named sets that share none, each with the labels in equal proportion as far as they go.

    A text that occurs twice is taken once: it would be trained on and tested. What the set itself calls ``train`` or
    ``test`` goes nowhere else; other sets get what neither needs.

    Args:
        examples: of a text set.
        sizes: name of each set, and how many it gets.
        seeds: decide which.

    Raises:
        DataError: fewer examples than wanted.
    """
    unique = list({(example.text, example.second): example for example in examples}.values())
    shuffled = [unique[index] for index in seeds.at("division").generator().permutation(len(unique))]
    kinds: dict[str, list[Example]] = defaultdict(list)
    for example in shuffled:
        kinds[example.label].append(example)
    mixed = _interleaved(kinds)
    result: dict[str, list[Example]] = {}
    for name, size in sizes.items():
        fitting = [example for example in mixed if example.split in ("", name)]
        if len(fitting) < size:
            raise DataError(
                f"{len(fitting)} different texts are left for {name!r}: expected {size}; ask for fewer, or give more texts."
            )
        result[name] = fitting[:size]
        taken = {id(example) for example in result[name]}
        mixed = [example for example in mixed if id(example) not in taken]
    return result


def _interleaved(kinds: Mapping[str, Sequence[Example]]) -> list[Example]:
    """All examples by their place within their own label, so that every stretch has the labels as the whole has."""
    placed = [
        ((place + 0.5) / len(kind), label, example)
        for label, kind in sorted(kinds.items())
        for place, example in enumerate(kind)
    ]
    return [example for _, _, example in sorted(placed, key=lambda item: item[:2])]


@contextmanager
def readable_text(path: Path) -> Iterator[None]:
    """Turns what a missing or damaged text file raises into an error that names it."""
    try:
        yield
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; name the folder or file of the text set.") from None
    except (ValueError, KeyError, TypeError, IndexError, OSError) as error:
        raise DataError(
            f"{path} cannot be read as this text set ({type(error).__name__}: {error}); give it as it was published, or "
            "another data.texts = {method = ...}."
        ) from None
