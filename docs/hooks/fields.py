"""The fields of an options dataclass in the words of an experiment file."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin

import tomli_w

from sordino._registry import Registry
from sordino.config import Choice, FolderOrName

Field = dataclasses.Field[Any]

_NAMES: Final[Mapping[Any, str]] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "path",
}


def fields_of(kind: Any) -> Iterator[tuple[Field, Any]]:
    """Each option with its type, marks such as `Choice` included."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return ((field, hints[field.name]) for field in dataclasses.fields(kind) if field.init)


def type_of(hint: Any) -> str:  # noqa: PLR0911 - one return a kind of type
    """What a value must be, e.g. ``list of texts``."""
    if family_of(hint) is not None:
        return "method"
    origin, inner = get_origin(hint), get_args(hint)
    if origin is typing.Annotated:
        return "path or name" if any(isinstance(mark, FolderOrName) for mark in inner) else type_of(inner[0])
    if origin is Literal:
        return " or ".join(f'`"{value}"`' for value in inner)
    if origin in (Union, types.UnionType):
        return type_of(without_none(hint))
    if origin is tuple:
        return f"list of {type_of(inner[0])}s" if inner[-1] is Ellipsis else f"{len(inner)} {type_of(inner[0])}s"
    if origin is not None or dataclasses.is_dataclass(hint):
        return "table"
    return _NAMES[hint]


def default_of(field: Field) -> str:
    """The default as a file would write it; ``unset`` for None, ``required`` where there is none."""
    if field.default_factory is not dataclasses.MISSING:
        return _written(getattr(field.default_factory, "name", None)) if _is_method(field) else "its own table"
    return "required" if field.default is dataclasses.MISSING else _written(field.default)


def family_of(hint: Any) -> Registry[Any] | None:
    """The registry that a value is chosen from, if it is."""
    marks = get_args(without_none(hint))[1:]
    return next((mark.registry for mark in marks if isinstance(mark, Choice)), None)


def without_none(hint: Any) -> Any:
    """``X`` of ``X | None``."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    return next(member for member in get_args(hint) if member is not type(None))


def bare(hint: Any) -> Any:
    """The type itself, without ``None`` and marks."""
    inner = without_none(hint)
    return get_args(inner)[0] if get_origin(inner) is typing.Annotated else inner


def values_of(hint: Any) -> Any:
    """What each value of a table with names of the user's own must be; the hint itself if it is no such table."""
    return get_args(hint)[1] if get_origin(hint) is Mapping else hint


def _is_method(field: Field) -> bool:
    return isinstance(getattr(field.default_factory, "name", None), str)


def _written(value: Any) -> str:
    if value is None:
        return "unset"
    value = str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
    text = tomli_w.dumps({"_": value}).removeprefix("_ = ").strip()
    return " ".join(text.split()).replace("[ ", "[").replace(", ]", "]")
