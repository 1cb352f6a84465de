"""What people see of a finished run: the same on the command line and on its page."""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sordino._registry import Registry
from sordino.records import RunFolder
from sordino.reporting.figures.plate import Plate
from sordino.reporting.reading import reading
from sordino.reporting.tables import Table

__all__ = ["SUMMARIES", "Summary", "Summariser", "summarise"]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A run in a few tables, figures and sentences.

    Attributes:
        title: what was run.
        sentences: what has to be known to read the tables; the guarantee is shown apart from it.
        tables: shown on the command line too.
        plates: figures.
    """

    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    plates: Sequence[Plate] = ()


class Summariser(ABC):
    """Makes the summary of one kind of experiment from its run folder."""

    @staticmethod
    @abstractmethod
    def read(folder: RunFolder) -> Summary:
        """The summary of a finished run; what a damaged file raises becomes a DataError in `summarise`."""


SUMMARIES: Registry[Summariser] = Registry("summary of a task", package="sordino.reporting.summaries")
"""How each task's result is shown, by the task's name."""


def summarise(folder: RunFolder) -> Summary:
    """The summary of a finished run.

    Raises:
        ConfigError: a task that nothing here can show.
        DataError: a damaged file.
    """
    with reading(folder.config):
        config: dict[str, Any] = tomllib.loads(folder.config.read_text(encoding="utf-8"))
    kind = SUMMARIES.get(str(config.get("task", "federated")))
    with reading(folder.result):
        return kind.read(folder)
