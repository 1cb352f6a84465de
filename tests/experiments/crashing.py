"""What a process does that a test kills; apart, so that a fresh process can import it."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from sordino.experiments import load_experiment, run_federated


def run_here(config: str, path: str, changes: list[str], fault: str, *, resume: bool) -> None:
    os.environ["SORDINO_FAULT"] = fault
    torch.set_num_threads(1)
    run_federated(load_experiment(Path(config), changes), Path(path), resume=resume)
