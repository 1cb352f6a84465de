"""A run that goes on from the model of another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from sordino.errors import ConfigError
from sordino.experiments import assemble, load_experiment, run_federated
from sordino.experiments.evaluating import evaluate_run
from sordino.models import ModelOptions, load_trained


@pytest.fixture
def first(small: Path, tmp_path: Path) -> Path:
    """A finished run whose A matrices are fixed and not those that seed 1 gives."""
    options = load_experiment(small, ["model.lora.train=b", "federated.rounds=1", "privacy.mechanism=none"])
    run_federated(options, tmp_path / "first")
    return tmp_path / "first"


def test_a_run_starts_where_another_ended(small: Path, first: Path, tmp_path: Path) -> None:
    changes = ["model.lora.train=b", f"model.start={first}", "seed=1", "federated.rounds=1", "simulation.workers=2"]
    options = load_experiment(small, changes)
    parts = assemble(options)
    expected = load_trained(ModelOptions(lora=options.model.lora), first / "model").state_dict()
    for learner in parts.backend.learners:
        state = learner.model.state_dict()
        assert all(torch.equal(state[name], tensor) for name, tensor in expected.items())

    run_federated(options, tmp_path / "second")
    privacy = json.loads((tmp_path / "second" / "privacy.json").read_text())
    assert "what the starting model learnt in the run 'first'" in privacy["words"]
    shutil.rmtree(first)
    assert evaluate_run(tmp_path / "second")["wer"] >= 0


def test_what_is_no_finished_run_of_such_a_model_is_refused(small: Path, first: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no run folder"):
        assemble(load_experiment(small, [f"model.start={tmp_path / 'nowhere'}"]))
    with pytest.raises(ConfigError, match="r = 8, the model has 4"):
        assemble(load_experiment(small, [f"model.start={first}", "model.lora.rank=4"]))
    shutil.rmtree(first / "model")
    with pytest.raises(ConfigError, match="a run that is finished"):
        assemble(load_experiment(small, [f"model.start={first}"]))
