"""An experiment's dataclass as one section a table of its file, the methods that a table can name included."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from families import as_table, summary
from fields import bare, default_of, family_of, fields_of, type_of, values_of

_HEAD = ("key", "type", "default", "meaning")


def sections(experiment: Any) -> str:
    """Markdown with a heading for every table, from the top level down."""
    return "\n".join(_section(experiment, at=""))


def _section(kind: Any, *, at: str) -> Iterator[str]:
    yield f"## {f'`[{at}]`' if at else 'Top level'}\n\n{summary(kind)}\n\n{_table(kind, at)}"
    for field, hint in fields_of(kind):
        inner, below = bare(hint), f"{at}.{field.name}".lstrip(".")
        family = family_of(hint) or family_of(values_of(inner))
        if family is not None:
            for name, member in family:
                yield _method(name, member, below if family_of(hint) else f"{below}.NAME")
        elif dataclasses.is_dataclass(inner):
            yield from _section(inner, at=below)


def _method(name: str, member: Any, at: str) -> str:
    options = _table(member, at) if list(fields_of(member)) else "It has no options.\n"
    return f'### `{at} = "{name}"`\n\n{summary(member)}\n\n{options}'


def _table(kind: Any, at: str) -> str:
    rows = [
        (f"`{field.name}`", _type(hint, at, field.name), _default(default_of(field)), _sentence(field.metadata["help"]))
        for field, hint in fields_of(kind)
    ]
    return as_table(_HEAD, rows)


def _type(hint: Any, at: str, name: str) -> str:
    family, below = family_of(hint), f"{at}.{name}".lstrip(".")
    if family is not None:
        return "a method: " + ", ".join(f"`{known}`" for known in family.names())
    return f"table `[{below}]`" if dataclasses.is_dataclass(bare(hint)) else type_of(hint)


def _default(text: str) -> str:
    return text if text in ("unset", "required", "its own table") else f"`{text}`"


def _sentence(text: str) -> str:
    """A help text that is no sentence yet becomes one; ``clip shrinks what is too large.`` begins with a value."""
    return text if text.endswith(".") else f"{text[0].upper()}{text[1:]}."
