"""Named families of interchangeable classes: allocations, cohorts, connectors, corpora, methods.

A family is a `Registry`; a member is one class in one file. The class's dataclass fields are its options, so that
config keys, help texts and documentation come from one place.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from sordino._check import did_you_mean
from sordino.errors import ConfigError

__all__ = ["Registry", "load_plugins"]

T = TypeVar("T")
C = TypeVar("C", bound=type)


class Registry(Generic[T]):
    """The members of one family, by name.

    Args:
        kind: what a member is called in messages, e.g. ``"allocation"``.
        package: package whose modules register members; imported when the registry is first read.
    """

    def __init__(self, kind: str, *, package: str | None = None) -> None:
        self.kind = kind
        self._package = package
        self._members: dict[str, type[T]] = {}

    def register(self, name: str) -> Callable[[C], C]:
        """Class decorator that adds the class under ``name`` and stores the name on it as ``name``."""

        def add(member: C) -> C:
            known = self._members.get(name)
            # The same class again is a module imported anew; one of the same name elsewhere is another class.
            if known is not None and (known.__module__, known.__qualname__) != (member.__module__, member.__qualname__):
                raise ConfigError(
                    f"{self.kind} {name!r} is already taken by {known.__module__}; register {member.__module__} under "
                    "another name."
                )
            member.name = name  # type: ignore[attr-defined]
            self._members[name] = member
            return member

        return add

    def names(self) -> Sequence[str]:
        """All names, sorted."""
        return sorted(self._all())

    def __iter__(self) -> Iterator[tuple[str, type[T]]]:
        return iter(sorted(self._all().items()))

    def get(self, name: str) -> type[T]:
        """The class called ``name``; raises ConfigError with the nearest name."""
        self._import_namesake(name)
        if name in self._members:
            return self._members[name]
        members = self._all()
        if name not in members:
            known = ", ".join(sorted(members))
            raise ConfigError(
                f"{self.kind} {name!r} is not known{did_you_mean(name, members)}; choose one of {known}, or name "
                "the module that has it under plugins."
            )
        return members[name]

    def _import_namesake(self, name: str) -> None:
        """Imports the module called like the member, where there is one: one kind of experiment loads without the others."""
        module = f"{self._package}.{name.replace('-', '_')}"
        if self._package is not None and name.replace("-", "_").isidentifier():
            importlib.import_module(self._package)
            if importlib.util.find_spec(module) is not None:
                importlib.import_module(module)

    def _all(self) -> Mapping[str, type[Any]]:
        if self._package is not None:
            package = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{package.__name__}.{module.name}")
            self._package = None
        return self._members


def load_plugins(modules: Sequence[str]) -> None:
    """Imports the modules named under ``plugins``, whose decorators register what they define."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ConfigError(
                f"plugins: module {module!r} cannot be imported ({error}); install it, put its folder on "
                "PYTHONPATH, or correct the name."
            ) from error
