"""Composition roots: an experiment file becomes a run.

A name is loaded when it is asked for, so that planning never waits for transformers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sordino.experiments.loading import default_job, load_experiment, load_federated
from sordino.experiments.observer import Observer, Progress, Silent
from sordino.experiments.tasks import TASKS, Experiment
from sordino.experiments.tasks.federated import FederatedExperiment

if TYPE_CHECKING:
    from sordino.experiments.assembly import Assembly, assemble
    from sordino.experiments.federated import run_federated

__all__ = [
    "TASKS",
    "Assembly",
    "Experiment",
    "FederatedExperiment",
    "Observer",
    "Progress",
    "Silent",
    "assemble",
    "default_job",
    "load_experiment",
    "load_federated",
    "run_federated",
]

_HOMES = {"Assembly": "assembly", "assemble": "assembly", "run_federated": "federated"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
