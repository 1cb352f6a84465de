"""The model that a finished run left behind."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from sordino.errors import ConfigError
from sordino.experiments.loading import load_federated
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.models import SpeechLLM, load_trained
from sordino.records import RunFolder

__all__ = ["load_finished"]


def load_finished(path: Path) -> tuple[FederatedExperiment, SpeechLLM]:
    """A run's options and its trained model.

    Raises:
        ConfigError: no run there, or it has no model yet.
    """
    folder = RunFolder.open(path)
    if not folder.model.is_dir():
        raise ConfigError(f"{path} has no model yet; finish it with: sordino run --resume --out {quote(str(path))}")
    options = load_federated(folder.config)
    return options, load_trained(options.model, folder.model)
