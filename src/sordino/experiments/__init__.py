"""Composition roots: an experiment file becomes a run."""

from sordino.experiments.assembly import Assembly, assemble
from sordino.experiments.federated import run_federated
from sordino.experiments.loading import default_job, load_experiment
from sordino.experiments.observer import Observer, Progress, Silent
from sordino.experiments.options import TASKS, FederatedExperiment

__all__ = [
    "TASKS",
    "Assembly",
    "FederatedExperiment",
    "Observer",
    "Progress",
    "Silent",
    "assemble",
    "default_job",
    "load_experiment",
    "run_federated",
]
