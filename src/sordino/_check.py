"""Validation of single values: each check names the value, what was expected and where it came from."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from sordino.errors import ConfigError

__all__ = ["at_least", "at_most", "did_you_mean", "finite", "fraction", "free_folder", "one_of", "positive", "told_as"]


def finite(name: str, value: float) -> float:
    """Raises ConfigError unless ``value`` is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ConfigError(f"{name} = {value!r}: expected a finite number; set {name} to such a number.")
    return value


def positive(name: str, value: float) -> float:
    """Raises ConfigError unless ``0 < value < inf``."""
    if finite(name, value) <= 0:
        raise ConfigError(f"{name} = {value!r}: expected a number above 0; set {name} to such a number.")
    return value


def at_least(name: str, value: float, minimum: float) -> float:
    """Raises ConfigError unless ``minimum <= value < inf``."""
    if finite(name, value) < minimum:
        raise ConfigError(f"{name} = {value!r}: expected at least {minimum}; raise {name}.")
    return value


def at_most(name: str, value: float, maximum: float) -> float:
    """Raises ConfigError unless ``-inf < value <= maximum``."""
    if finite(name, value) > maximum:
        raise ConfigError(f"{name} = {value!r}: expected at most {maximum}; lower {name}.")
    return value


def fraction(name: str, value: float, *, zero: bool = False, one: bool = False) -> float:
    """Raises ConfigError unless ``value`` lies between 0 and 1; each end is included on request."""
    low, high = "[" if zero else "(", "]" if one else ")"
    inside = (0 < finite(name, value) < 1) or (zero and value == 0) or (one and value == 1)
    if not inside:
        raise ConfigError(f"{name} = {value!r}: expected a number in {low}0, 1{high}; set {name} to such a number.")
    return value


def one_of(name: str, value: str, choices: Iterable[str]) -> str:
    """Raises ConfigError, with the nearest choice, unless ``value`` is one of ``choices``."""
    known = list(choices)
    if value not in known:
        raise ConfigError(
            f"{name} = {value!r} is not known{did_you_mean(value, known)}; choose one of {', '.join(known)}."
        )
    return value


def free_folder(path: Path, *, remedy: str) -> Path:
    """Raises ConfigError, ending in the remedy, unless ``path`` is absent or an empty folder."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"{path} exists and is not an empty folder; {remedy}")
    return path


def did_you_mean(value: object, known: Iterable[str]) -> str:
    """The clause " (did you mean ...?)", or nothing when no choice is near."""
    near = get_close_matches(str(value), list(known), n=1, cutoff=0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""


@contextmanager
def told_as(key: str, *, of: str) -> Iterator[None]:
    """Lets a ConfigError about the key ``of``, or a key in it, name ``key``: what stands there in the user's file."""
    try:
        yield
    except ConfigError as error:
        said = re.sub(rf"(?<![\w.-]){re.escape(of)}(?![\w-])", lambda _: key, str(error))
        raise type(error)(said) from None
