"""From an experiment file to its options."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from sordino._registry import load_plugins
from sordino.config import build, load
from sordino.errors import ConfigError
from sordino.experiments.tasks import TASKS, Experiment
from sordino.experiments.tasks.federated import FederatedExperiment

__all__ = ["default_job", "federated", "load_experiment", "load_federated", "parse_experiment"]


def default_job() -> Path:
    """The experiment that runs when no file is named."""
    return Path(str(files("sordino.experiments") / "default.toml"))


def load_experiment(path: Path | None, overrides: Sequence[str] = (), *, keep_unset: bool = False) -> Experiment:
    """Reads an experiment file, or the default job.

    Args:
        path: the file; None for the default job.
        overrides: ``key=value`` texts.
        keep_unset: do without environment variables that are not set, for planning where there is no data.

    Raises:
        ConfigError: anything wrong with the file, named with its key.
    """
    return _built(load(path or default_job(), overrides, keep_unset=keep_unset))


def load_federated(
    path: Path | None, overrides: Sequence[str] = (), *, keep_unset: bool = False
) -> FederatedExperiment:
    """Reads an experiment file as `load_experiment` does, for what only a federated speech-LLM has.

    Raises:
        ConfigError: anything wrong with the file, or another task.
    """
    return federated(load_experiment(path, overrides, keep_unset=keep_unset))


def federated(experiment: Experiment) -> FederatedExperiment:
    """The experiment if it is a federated speech-LLM; raises ConfigError for any other task."""
    if isinstance(experiment, FederatedExperiment):
        return experiment
    raise ConfigError(
        f'task = "{experiment.name}": this command is for experiments with task = "federated"; use sordino run, sordino '
        "report or sordino privacy for others."
    )


def parse_experiment(text: str) -> Experiment:
    """Reads a resolved experiment, as `to_toml` wrote it.

    Raises:
        ConfigError: it is not one.
    """
    try:
        return _built(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the experiment is not TOML ({error}); give the text of a run's config.toml.") from None


def _built(table: dict[str, Any]) -> Experiment:
    plugins = table.get("plugins", [])
    if not isinstance(plugins, list) or not all(isinstance(name, str) for name in plugins):
        raise ConfigError(f"plugins = {plugins!r}: expected a list of module names in quotes.")
    load_plugins(plugins)
    return build(TASKS.get(str(table.get("task", "federated"))), table)
