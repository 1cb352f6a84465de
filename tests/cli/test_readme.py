"""The README's experiment is one that sordino understands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from sordino.config import build
from sordino.experiments import FederatedExperiment

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_experiment_file_is_understood() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    experiment = build(FederatedExperiment, tomllib.loads(text))
    assert experiment.privacy.population == 316
    assert experiment.model.window_s == 10
