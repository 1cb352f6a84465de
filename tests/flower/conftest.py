"""Lets the tests of this folder import the fake grid, and the toy learner of the federated ones."""

import sys
from pathlib import Path

import pytest
from flwr.supercore.task_identity import TaskIdentity

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "federated")]


@pytest.fixture(autouse=True)
def _identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages can be made only where Flower has said whose they are."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)
