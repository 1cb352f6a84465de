"""How far a long pass over recordings is, where there is a terminal to show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from sordino.cli.console import stderr

__all__ = ["tracked"]

T = TypeVar("T")


def tracked(items: Iterable[T], what: str) -> Iterator[T]:
    """The items, with a bar (or a count, if their number is not known) that goes away at the end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = stderr()
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield from progress.track(items, description=what)
