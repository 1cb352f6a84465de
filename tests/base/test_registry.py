"""Families of classes by name: registration, lookup, discovery in a package, plugins."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino._registry import Registry, load_plugins
from sordino.errors import ConfigError

FAMILY: Registry[object] = Registry("allocation")


@FAMILY.register("flat")
class Flat: ...


@FAMILY.register("alpha-split")
class AlphaSplit: ...


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path; modules imported from it are forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_members_are_found_by_name_and_know_it() -> None:
    assert FAMILY.get("flat") is Flat
    assert Flat.name == "flat"
    assert FAMILY.names() == ["alpha-split", "flat"]
    assert list(FAMILY) == [("alpha-split", AlphaSplit), ("flat", Flat)]


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        FAMILY.get("alpha_split")
    assert str(caught.value) == (
        "allocation 'alpha_split' is not known (did you mean 'alpha-split'?); choose one of alpha-split, flat, or name "
        "the module that has it under plugins."
    )


def test_a_name_is_given_once() -> None:
    family: Registry[object] = Registry("allocation")
    family.register("flat")(Flat)
    with pytest.raises(ConfigError, match="allocation 'flat' is already taken"):
        family.register("flat")(AlphaSplit)
    assert family.get("flat") is Flat


def test_a_class_of_the_same_name_from_another_module_does_not_take_over() -> None:
    """Otherwise a plugin could silently replace a built-in method."""
    family: Registry[object] = Registry("allocation")
    family.register("flat")(Flat)
    stranger = type("Flat", (), {"__module__": "somewhere.else"})
    with pytest.raises(ConfigError, match=r"already taken by .*test_registry; register somewhere\.else under"):
        family.register("flat")(stranger)


def test_a_module_imported_again_registers_again() -> None:
    family: Registry[object] = Registry("allocation")
    family.register("flat")(Flat)
    again = type("Flat", (), {"__module__": Flat.__module__})
    family.register("flat")(again)
    assert family.get("flat") is again


def test_the_modules_of_the_package_are_imported_on_first_use(importable: Path) -> None:
    package = importable / "zoo"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from sordino._registry import Registry\nZOO = Registry('animal', package='zoo')\n"
    )
    (package / "cat.py").write_text("from zoo import ZOO\n@ZOO.register('cat')\nclass Cat: ...\n")
    (package / "dog.py").write_text("from zoo import ZOO\n@ZOO.register('dog')\nclass Dog: ...\n")
    from zoo import ZOO  # type: ignore[import-not-found]

    assert "zoo.cat" not in sys.modules
    assert ZOO.names() == ["cat", "dog"]


def test_one_member_is_loaded_without_the_others(importable: Path) -> None:
    package = made_package(importable, "aviary")
    (package / "barn_owl.py").write_text("from aviary import BIRDS\n@BIRDS.register('barn-owl')\nclass BarnOwl: ...\n")
    (package / "kite.py").write_text("raise OSError('not now')")
    from aviary import BIRDS  # type: ignore[import-not-found]

    assert BIRDS.get("barn-owl").__name__ == "BarnOwl"
    with pytest.raises(OSError, match="not now"):
        BIRDS.names()


def test_a_plugin_cannot_take_the_name_of_a_member_that_is_not_loaded_yet(importable: Path) -> None:
    package = made_package(importable, "hedge")
    (package / "wren.py").write_text("from hedge import BIRDS\n@BIRDS.register('wren')\nclass Wren: ...\n")
    from hedge import BIRDS  # type: ignore[import-not-found]

    BIRDS.register("wren")(type("Other", (), {}))
    with pytest.raises(ConfigError, match="already taken"):
        BIRDS.get("wren")


def made_package(folder: Path, name: str) -> Path:
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text(
        f"from sordino._registry import Registry\nBIRDS = Registry('bird', package='{name}')\n"
    )
    return package


def test_a_package_that_fails_to_import_fails_every_time(importable: Path) -> None:
    package = importable / "broken_zoo"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "cat.py").write_text("raise OSError('no cat')")
    family: Registry[object] = Registry("animal", package="broken_zoo")
    for _ in range(2):
        with pytest.raises(OSError, match="no cat"):
            family.names()


def test_plugins_register_their_classes(importable: Path) -> None:
    (importable / "my_rules.py").write_text(
        f"from {__name__} import FAMILY\n@FAMILY.register('mine')\nclass Mine: ...\n"
    )
    try:
        load_plugins(["my_rules"])
        assert FAMILY.get("mine").__module__ == "my_rules"
    finally:
        FAMILY._members.pop("mine", None)


def test_a_plugin_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"plugins: module 'no_such_rules' cannot be imported .*correct the name"):
        load_plugins(["no_such_rules"])
