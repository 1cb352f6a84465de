"""What every kind of experiment is: options from a file, and a way to run them in a run folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sordino._registry import Registry
from sordino.errors import ConfigError

if TYPE_CHECKING:
    from sordino.experiments.observer import Observer
    from sordino.experiments.on_flower.halves import Halves

__all__ = ["TASKS", "Experiment"]


class Experiment(ABC):
    """One kind of experiment: a frozen dataclass whose fields are the tables and keys of its file.

    A member says its own name in a field ``task``, so that a run's ``config.toml`` says what ran. Making one imports
    neither torch nor data; `run` does.
    """

    __slots__ = ()

    name: ClassVar[str]

    @property
    @abstractmethod
    def num_steps(self) -> int:
        """What the progress is counted in, e.g. rounds; 0 if that is not known before."""

    @abstractmethod
    def run(self, path: Path, *, resume: bool = False, observer: Observer | None = None) -> dict[str, Any]:
        """Runs the experiment, from the start or from where it was interrupted.

        Args:
            path: where the run folder is made; nothing is made before the options are known to be sound.
            resume: continue the interrupted run at ``path`` instead.
            observer: is told the progress.

        Returns:
            What ``sordino run --json`` prints, and ``result.json`` keeps. It holds at least ``run``, ``statement``,
            ``epsilon`` and ``seconds``.

        Raises:
            BudgetExhausted: the budget covers nothing of it.
            ConfigError: ``path`` is taken, or holds no run to resume.
        """

    def on_flower(self) -> Halves:
        """The experiment's two halves on Flower.

        Raises:
            ConfigError: Flower is not installed, or this experiment does not run on it.
        """
        raise ConfigError(
            f'task = "{self.name}": expected "federated" or "personalised", which are the tasks that run on Flower; use '
            "sordino run for this one."
        )


TASKS: Registry[Experiment] = Registry("task", package="sordino.experiments.tasks")
"""All kinds of experiment by name, the values of ``task``."""
