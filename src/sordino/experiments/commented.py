"""Writes an experiment file that explains itself; what an option means is taken from the option."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

import tomli_w
from jinja2 import Environment, StrictUndefined

from sordino.data.corpora.manifest import Manifest
from sordino.experiments.tasks.federated import EvaluationOptions, SimulationOptions
from sordino.privacy import PrivacyOptions

__all__ = ["render"]

_TABLES: Final[Mapping[str, Any]] = {
    "data.corpus": Manifest,
    "privacy": PrivacyOptions,
    "evaluation": EvaluationOptions,
    "simulation": SimulationOptions,
}
_WIDTH: Final = 118


def render(values: Mapping[str, Any]) -> str:
    """The text of ``starting.toml.jinja`` with these values in it; one that is missing raises an error."""
    environment = Environment(  # noqa: S701 - this is TOML, nothing to escape for HTML
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"toml": _toml, "comment": _comment}
    environment.globals["help"] = _help
    template = (files("sordino.experiments") / "starting.toml.jinja").read_text(encoding="utf-8")
    return environment.from_string(template).render(values)


def _help(key: str) -> str:
    table, _, name = key.rpartition(".")
    field = next(field for field in dataclasses.fields(_TABLES[table]) if field.name == name)
    return str(field.metadata["help"])


def _toml(value: Any) -> str:
    return tomli_w.dumps({"_": value}).removeprefix("_ = ").rstrip("\n")


def _comment(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False)
