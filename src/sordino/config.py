"""TOML in, dataclasses out: ``extends``, ``--set a.b=c``, unknown keys, types. Knows no option of any room.

Each room owns the frozen dataclass of its options. A field whose type is a `Choice` takes a table with a ``method`` key
and builds the registered class from the rest of the table.

A relative path in a file starts from that file's folder, one in a ``--set`` from the working directory.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
import tomllib
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, Union, get_args, get_origin

import tomli_w

from sordino._check import did_you_mean, told_as
from sordino._registry import Registry
from sordino.errors import ConfigError

__all__ = ["Choice", "FolderOrName", "Home", "build", "dump", "load", "option", "parse_overrides", "to_toml"]

O = TypeVar("O")  # noqa: E741


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """Marks a field as a member of a family: ``Annotated[Allocation, Choice(ALLOCATIONS)]``."""

    registry: Registry[Any]


@dataclasses.dataclass(frozen=True, slots=True)
class FolderOrName:
    """Marks a text that is a path if there is such a folder, and otherwise a name: ``Annotated[str, FolderOrName()]``.

    Attributes:
        reserved: names that never mean a folder.
    """

    reserved: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Home:
    """Marks a field whose value checks itself under another key, so that its messages name this one.

    Attributes:
        key: where such a value usually stands, e.g. ``federated.method``.
    """

    key: str


class _FileText(str):
    """A text of an experiment file, which knows the folder that it starts from if it turns out to be a path."""

    folder: Path

    def __new__(cls, text: str, folder: Path) -> Self:
        made = super().__new__(cls, text)
        made.folder = folder
        return made


def option(help_text: str, default: Any = dataclasses.MISSING, *, factory: Any = dataclasses.MISSING) -> Any:
    """A dataclass field with the sentence that help, docs and config comments show."""
    if factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=factory, metadata={"help": help_text})
    return dataclasses.field(default=default, metadata={"help": help_text})


def load(path: Path, overrides: Sequence[str] = (), *, keep_unset: bool = False) -> dict[str, Any]:
    """Reads an experiment file, its ``extends`` ancestors and ``--set`` overrides into one table.

    A table of the child is merged into the parent's, except one that names another ``method``: that replaces it. A
    method's name stands for a table of that method.
    ``${NAME}`` in a string is replaced by the environment variable.

    Args:
        path: the file.
        overrides: ``key=value`` texts.
        keep_unset: leave ``${NAME}`` as it is where there is no such variable, for looking at an experiment without
            what the variable leads to.

    Raises:
        ConfigError: file missing, not TOML, a circle of ``extends``, an override that is not ``key=value``, or an
            environment variable that is not set.
    """
    table = _read(path, ())
    table = _merge(table, parse_overrides(overrides))
    expanded: dict[str, Any] = _map_texts(table, lambda text: _expand(text, keep_unset=keep_unset))
    return expanded


def parse_overrides(overrides: Sequence[str]) -> dict[str, Any]:
    """The table that ``--set`` texts such as ``privacy.epsilon=8`` stand for; later ones win.

    Raises:
        ConfigError: one is not ``key=value``.
    """
    table: dict[str, Any] = {}
    for text in overrides:
        key, sign, value = text.partition("=")
        if not sign or not re.fullmatch(r"\s*[A-Za-z0-9_-]+(\s*\.\s*[A-Za-z0-9_-]+)*\s*", key):
            raise ConfigError(f"--set {text!r}: expected key=value, e.g. --set privacy.epsilon=8.")
        nested: Any = _value(value.strip())
        for part in reversed(key.split(".")):
            nested = {part.strip(): nested}
        table = _merge(table, nested)
    return table


def _read(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    path = path.expanduser().resolve()
    if path in seen:
        raise ConfigError(
            f"{path}: extends itself through {' -> '.join(p.name for p in (*seen, path))}; break the circle."
        )
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # some editors begin UTF-8 with a mark
    except FileNotFoundError:
        if seen:
            raise ConfigError(f"{path} does not exist, but {seen[-1]} extends it; correct that path.") from None
        raise ConfigError(
            f"{path} does not exist; name an experiment file, or run without one for the default job."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise ConfigError(
            f"{path} cannot be read as a text file ({reason}); name a TOML experiment file, saved as UTF-8."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}; correct that line.") from None
    parent = table.pop("extends", None)
    own: dict[str, Any] = _map_texts(table, lambda text: _FileText(text, path.parent))
    if parent is None:
        return own
    if not isinstance(parent, str):
        raise ConfigError(
            f"{path}: extends = {parent!r}: expected the path of another experiment file; write it in quotes."
        )
    return _merge(_read(path.parent / parent, (*seen, path)), own)


def _value(text: str) -> Any:
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return table["value"] if len(table) == 1 else text


def _merge(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in top.items():
        old = result.get(key)
        if isinstance(old, str) and isinstance(value, dict):
            old = {"method": old}  # a method without options is written as its name
        if isinstance(old, dict) and isinstance(value, dict) and not _names_another_method(old, value):
            result[key] = _merge(old, value)
        else:
            result[key] = value
    return result


def _names_another_method(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the options of ``old`` mean nothing to ``new``. A ``method`` that is a table is an option like any other."""
    method = new.get("method", old.get("method"))
    return isinstance(method, str) and method != old.get("method")


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The same nested tables and lists with every text changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_texts(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_map_texts(item, change) for item in value]
    return value


def _expand(text: str, *, keep_unset: bool) -> str:
    def environment(match: re.Match[str]) -> str:
        return match.group() if keep_unset and match.group(1) not in os.environ else _environment(match.group(1))

    expanded = re.sub(r"\$\{(\w+)\}", environment, text)
    return _FileText(expanded, text.folder) if isinstance(text, _FileText) else expanded


def _environment(name: str) -> str:
    if name not in os.environ:
        raise ConfigError(
            f"the environment variable {name} is not set; set it to what the experiment file means by ${{{name}}}."
        )
    return os.environ[name]


def build(kind: type[O], table: Mapping[str, Any], *, at: str = "") -> O:
    """Makes the options dataclass ``kind`` from a table.

    Raises:
        ConfigError: unknown key (with the nearest one), missing key, wrong type, or what the dataclass itself refuses.
    """
    fields = {field.name: field for field in dataclasses.fields(typing.cast(Any, kind)) if field.init}
    for key in table:
        if key not in fields:
            raise ConfigError(
                f"unknown key {_join(at, key)!r}{did_you_mean(key, fields)}; keys here: {', '.join(fields) or 'none'}."
            )
    hints = typing.get_type_hints(kind, include_extras=True)
    values = {
        key: _convert(hints[key], _with_default_method(fields[key], value), _join(at, key))
        for key, value in table.items()
    }
    for name, field in fields.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and name not in values:
            meaning = field.metadata.get("help", "see the documentation").rstrip(".")
            raise ConfigError(f"{_join(at, name)} is missing; set it. It means: {meaning}.")
    return kind(**values)


def _join(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _with_default_method(field: dataclasses.Field[Any], value: Any) -> Any:
    """A table that sets options of a family's default member need not name it."""
    method = getattr(field.default_factory, "name", None)
    if isinstance(value, Mapping) and "method" not in value and isinstance(method, str):
        return {"method": method, **value}
    return value


def _convert(hint: Any, value: Any, at: str) -> Any:  # noqa: PLR0911 - one return a kind of type
    origin = get_origin(hint)
    if origin is typing.Annotated:
        inner, *marks = get_args(hint)
        home = next((mark for mark in marks if isinstance(mark, Home)), None)
        if home is not None:
            others = [mark for mark in marks if mark is not home]
            with told_as(at, of=home.key):
                return _convert(typing.Annotated[(inner, *others)] if others else inner, value, at)
        choice = next((mark for mark in marks if isinstance(mark, Choice)), None)
        place = next((mark for mark in marks if isinstance(mark, FolderOrName)), None)
        if place is not None:
            return _folder_or_name(_convert(inner, value, at), value, place.reserved)
        return _choose(choice.registry, value, at) if choice else _convert(inner, value, at)
    if origin in (Union, types.UnionType):
        return _convert_union(get_args(hint), value, at)
    if origin is typing.Literal:
        if value not in get_args(hint):
            known = [str(item) for item in get_args(hint)]
            raise ConfigError(
                f"{at} = {value!r} is not known{did_you_mean(value, known)}; choose one of {', '.join(known)}."
            )
        return next(item for item in get_args(hint) if item == value)
    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return build(typing.cast(type, hint), value, at=at)
    if hint is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        return float(value)
    if hint is Path and isinstance(value, str):
        path = Path(value).expanduser()
        return value.folder / path if isinstance(value, _FileText) else path
    if origin is tuple and isinstance(value, list | tuple):
        return _convert_tuple(get_args(hint), value, at)
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        return {key: _convert(get_args(hint)[1], item, _join(at, key)) for key, item in value.items()}
    expected = origin or hint
    if expected is not Any and (not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool)):
        raise ConfigError(f"{at} = {value!r}: expected {_describe(hint)}; correct its type.")
    return str(value) if isinstance(value, _FileText) else value


def _folder_or_name(text: str, value: str, reserved: tuple[str, ...]) -> str:
    if text in reserved:
        return text
    path = Path(text).expanduser()
    folder = value.folder / path if isinstance(value, _FileText) else path.absolute()
    return str(folder) if folder.is_dir() else text


def _convert_union(members: tuple[Any, ...], value: Any, at: str) -> Any:
    errors = []
    for member in members:
        if member is type(None):
            if value is None:
                return None
            continue
        try:
            return _convert(member, value, at)
        except ConfigError as error:
            errors.append(error)
    raise errors[0]


def _convert_tuple(members: tuple[Any, ...], value: Sequence[Any], at: str) -> tuple[Any, ...]:
    if len(members) == 2 and members[1] is Ellipsis:
        return tuple(_convert(members[0], item, f"{at}[{index}]") for index, item in enumerate(value))
    if len(members) != len(value):
        raise ConfigError(f"{at} = {value!r}: expected {len(members)} values; give that many.")
    return tuple(
        _convert(member, item, f"{at}[{index}]")
        for index, (member, item) in enumerate(zip(members, value, strict=True))
    )


def _choose(registry: Registry[Any], value: Any, at: str) -> Any:
    table = {"method": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping) or not isinstance(table.get("method"), str):
        raise ConfigError(
            f"{at} = {value!r}: expected a name such as {registry.names()[0]!r}, or a table whose method is one; choose "
            f"among {', '.join(registry.names())}."
        )
    return build(registry.get(table["method"]), {key: item for key, item in table.items() if key != "method"}, at=at)


def _describe(hint: Any) -> str:
    names = {
        float: "a number such as 0.5",
        int: "a whole number",
        str: "a text in quotes",
        bool: "true or false",
        Path: "a path in quotes",
    }
    if get_origin(hint) is tuple:
        return "a list"
    if get_origin(hint) in (dict, Mapping) or dataclasses.is_dataclass(hint):
        return "a table"
    return names.get(hint, str(hint))


def dump(options: Any) -> dict[str, Any]:
    """The table that `build` makes ``options`` from again; paths absolute, keys without a value left out."""
    fields = [field for field in dataclasses.fields(options) if field.init]
    table = {field.name: _plain(getattr(options, field.name)) for field in fields}
    return {key: value for key, value in table.items() if value is not None}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        method = getattr(type(value), "name", None)  # set by the registry, unless the class has a field of that name
        return ({"method": method} if isinstance(method, str) else {}) | dump(value)
    if isinstance(value, Path):
        return str(value.absolute())  # so that a run's config means the same from any folder
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def to_toml(options: Any) -> str:
    """The resolved options as TOML text."""
    return tomli_w.dumps(dump(options))
