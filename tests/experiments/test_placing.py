"""Workers of a simulation on several devices. Here is none besides the CPU, so others are only named, or pretended."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from sordino.errors import ConfigError
from sordino.experiments import assemble, load_experiment, run_federated
from sordino.experiments.tasks.federated import SimulationOptions
from sordino.models import ModelOptions, SpeechLLM, load_model

GPUS = 'simulation.devices=["cuda:0", "cuda:1"]'


def test_devices_take_a_worker_each_in_turn() -> None:
    three = SimulationOptions(workers=3, devices=("cuda:0", "cuda:1"))
    assert three.places("cpu") == ("cuda:0", "cuda:1", "cuda:0")
    assert SimulationOptions(workers=2).places("cuda:1") == ("cuda:1", "cuda:1")


@pytest.mark.parametrize(
    ("devices", "shared"),
    [((), True), (("cuda:0", "cuda:1"), False), (("cuda", "cuda:0"), True), (("cpu:0", "cpu:1"), True)],
)
def test_who_shares_a_stream_of_dropout_masks(devices: tuple[str, ...], shared: bool, small: Path) -> None:
    options = SimulationOptions(workers=2, devices=devices)
    assert options.shares_a_device("cpu") == shared
    changes = ["model.lora.dropout=0.1", "simulation.workers=2", f"simulation.devices={list(devices)}"]
    if shared:
        with pytest.raises(ConfigError, match=r"dropout = 0\.1: .* device of its own by simulation\.devices"):
            load_experiment(small, changes)
    else:
        load_experiment(small, changes)
    assert not SimulationOptions(workers=1).shares_a_device("cpu")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["simulation.workers=1", GPUS], r"simulation\.workers = 1 with 2 simulation\.devices: .*workers = 2"),
        (["simulation.workers=2", 'simulation.devices=["cpu", "cuda:0"]'], "devices of one kind"),
    ],
)
def test_lists_that_cannot_be_meant_are_refused(changes: list[str], words: str, small: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        load_experiment(small, changes)


@pytest.mark.parametrize("missing", ["cuda:99", "meta", "cdua"])
def test_a_device_that_is_not_there_is_refused_by_its_key(missing: str, small: Path) -> None:
    options = load_experiment(small, ["simulation.workers=2", f'simulation.devices=["{missing}", "{missing}"]'])
    with pytest.raises(ConfigError, match=rf"^simulation\.devices = '{missing}'"):
        assemble(options)


def test_each_copy_is_loaded_onto_its_own_device(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load(options: ModelOptions, *, seed: int) -> SpeechLLM:
        loaded.append(options.device)
        return load_model(ModelOptions(), seed=seed)

    monkeypatch.setattr("sordino.experiments.placing.available_device", torch.device)
    monkeypatch.setattr("sordino.experiments.assembly.load_model", load)
    parts = assemble(load_experiment(small, ["simulation.workers=3", GPUS]))
    assert loaded == ["cuda:0", "cuda:1", "cuda:0"]
    assert [learner.model for learner in parts.backend.learners] == [parts.model, *parts.copies]


def test_named_devices_give_the_same_model_to_the_bit(small: Path, tmp_path: Path) -> None:
    ends = []
    for name, devices in {"one": "[]", "two": '["cpu", "cpu"]'}.items():
        changes = [
            "simulation.workers=2",
            f"simulation.devices={devices}",
            "simulation.seeded=true",
            "federated.rounds=2",
        ]
        run_federated(load_experiment(small, changes), tmp_path / name)
        ends.append([load_file(path) for path in sorted((tmp_path / name / "model").rglob("*.safetensors"))])
    assert ends[0]
    for ours, theirs in zip(*ends, strict=True):
        assert all(torch.equal(ours[key], theirs[key]) for key in ours)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_gpus_give_the_model_of_one(small: Path, tmp_path: Path) -> None:
    ends = []
    for name, devices in {"one": '["cuda:0", "cuda:0"]', "two": '["cuda:0", "cuda:1"]'}.items():
        changes = ["simulation.workers=2", f"simulation.devices={devices}", "simulation.seeded=true"]
        run_federated(load_experiment(small, changes), tmp_path / name)
        ends.append([load_file(path) for path in sorted((tmp_path / name / "model").rglob("*.safetensors"))])
    for ours, theirs in zip(*ends, strict=True):
        assert all(torch.allclose(ours[key], theirs[key], atol=1e-5) for key in ours)
