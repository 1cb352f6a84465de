"""The generated app is one that Flower takes, and says what it was made from."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from flwr.cli.config_utils import load_and_validate
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from sordino.errors import ConfigError
from sordino.experiments import load_experiment
from sordino.experiments.loading import parse_experiment
from sordino.flower import FlowerSettings

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))

from calling import sordino

EXAMPLES = Path(__file__).parents[2] / "examples"


def config_of(folder: Path) -> dict[str, object]:
    config: dict[str, object] = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    return config


def test_flower_takes_the_app_and_the_experiment_arrives_whole(small: Path, tmp_path: Path) -> None:
    app = tmp_path / "app"
    sordino("flower", "app", app, small, "--set", "privacy.noise_multiplier=0.7", "--out", tmp_path / "run")
    config, warnings = load_and_validate(app / "pyproject.toml")
    assert not warnings
    settings = FlowerSettings.of(config_of(app))
    assert parse_experiment(settings.experiment) == load_experiment(small, ["privacy.noise_multiplier=0.7"])
    assert settings.out == str(tmp_path / "run")
    for half, kind in (("serverapp", ServerApp), ("clientapp", ClientApp)):
        module, name = config["tool"]["flwr"]["app"]["components"][half].split(":")
        assert isinstance(getattr(import_module(module), name), kind)


def test_an_app_of_personal_recognisers_and_none_of_what_does_not_run_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SORDINO_DATA", str(tmp_path))  # which some of the examples name
    pooling = sordino("flower", "app", tmp_path / "app", EXAMPLES / "personalised.toml", check=2)
    assert "set evaluation.references" in pooling.stderr
    alone = ("--set", 'evaluation.references=["start"]')
    sordino("flower", "app", tmp_path / "app", EXAMPLES / "personalised.toml", *alone)
    assert 'task = "personalised"' in FlowerSettings.of(config_of(tmp_path / "app")).experiment
    for name in ("emotion", "federated-emotion", "split-text", "split-speech", "split-writing"):
        for arguments in (("app", tmp_path / name), ("run", "--out", tmp_path / name)):
            refused = sordino("flower", *arguments, EXAMPLES / f"{name}.toml", check=2)
            assert "which are the tasks that run on Flower; use sordino run" in refused.stderr
            assert not (tmp_path / name).exists()


@pytest.mark.parametrize(("options", "shown"), [((), "num-supernodes"), (("--own-recordings",), "--node-config")])
def test_the_readme_says_how_to_run_it(options: tuple[str, ...], shown: str, small: Path, tmp_path: Path) -> None:
    sordino("flower", "app", tmp_path / "app", small, *options)
    text = (tmp_path / "app" / "README.md").read_text()
    assert shown in text
    assert "flwr run ." in text
    assert "{" not in text.replace("{{", "")


def test_an_app_is_never_written_over_something(small: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    done = sordino("flower", "app", tmp_path, small, check=2)
    assert "not an empty folder" in done.stderr
    assert (tmp_path / "mine").read_text() == "precious"
    assert not (tmp_path / "pyproject.toml").exists()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"timeout_s": 0}, "timeout_s = 0"),
        ({"nodes": 0}, "nodes = 0"),
        ({"timeouts": 3}, "unknown key 'timeouts'"),
        ({"resume": "yes"}, "resume = 'yes'"),
    ],
)
def test_a_wrong_run_config_is_named(wrong: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        FlowerSettings.of({"experiment": "", **wrong})
    with pytest.raises(ConfigError, match="experiment is missing"):
        FlowerSettings.of({})


def test_an_experiment_that_is_no_toml_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match="not TOML"):
        parse_experiment("= 1")
