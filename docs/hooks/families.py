"""A registry as a Markdown table."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from fields import default_of, fields_of

from sordino._registry import Registry


def table(registry: Registry[Any]) -> str:
    """One row a member: name, what its docstring says first, and its options with their defaults."""
    rows = [(f"`{name}`", summary(member), _options(member)) for name, member in registry]
    return as_table(("method", "what it does", "options"), rows)


def summary(member: Any) -> str:
    """The first paragraph of a docstring as one line."""
    first = (inspect.getdoc(member) or "").split("\n\n", 1)[0]
    return " ".join(first.replace("``", "`").replace("**2", "²").split())


def as_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown; a bar inside a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _options(member: Any) -> str:
    pairs = ((field.name, default_of(field)) for field, _ in fields_of(member))
    options = [f"`{name}` (required)" if default == "required" else f"`{name}={default}`" for name, default in pairs]
    return "<br>".join(options) or "none"
