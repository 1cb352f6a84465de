"""What mkdocs calls on each page: a comment such as ``<!-- family: package.REGISTRY -->`` becomes a table from the code.

| comment | becomes |
|---|---|
| ``family: sordino.privacy.ALLOCATIONS`` | the members of a registry with their options and what they do |
| ``experiment: sordino.experiments.FederatedExperiment`` | every table and key of an experiment file |
| ``help: sordino.cli.app.app`` | every command with its arguments and options |

So no table can say anything else than the program does, and a new member of a family is in it by itself.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final

import experiment_tables
import families
import verbs

_KINDS: Final = {"family": families.table, "experiment": experiment_tables.sections, "help": verbs.sections}
_MARK: Final = re.compile(rf"^<!-- ({'|'.join(_KINDS)}): ([\w.]+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with every mark replaced; mkdocs calls this."""
    return _MARK.sub(lambda match: _KINDS[match[1]](_named(match[2])), markdown)


def _named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
