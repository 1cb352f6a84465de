"""Layouts that are kept from one plan to the next: the same as made anew, and forgotten when a config changes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sordino.experiments.layouts import layout_of
from sordino.models import LoraOptions, ModelOptions, model_shapes
from sordino.models.pocket import FOLDER as POCKET

TINY = ModelOptions(base="pocket", lora=LoraOptions(rank=3))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SORDINO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_kept_layout_is_the_one_made_anew(cache: Path) -> None:
    made = layout_of(TINY)
    (kept,) = cache.glob("layout-*/layout.json")
    assert made == layout_of(TINY) == model_shapes(TINY)
    assert layout_of(ModelOptions(base="pocket", lora=LoraOptions(rank=4))) != made
    assert json.loads(kept.read_text())[0] == [made.slots[0].name, "encoder", list(made.slots[0].shape)]


def test_changed_config_is_another_model(tmp_path: Path) -> None:
    base = tmp_path / "base"
    shutil.copytree(POCKET, base)
    options = ModelOptions(base=str(base))
    before = layout_of(options)
    config = base / "decoder" / "config.json"
    table = json.loads(config.read_text())
    config.write_text(json.dumps(table | {"num_hidden_layers": table["num_hidden_layers"] - 1}))
    assert layout_of(options).size < before.size


def test_second_plan_does_not_load_transformers() -> None:
    """Otherwise every plan waits for it."""
    plan = (
        "import sys; from sordino.experiments import load_experiment; from sordino.experiments.planning import plan_report\n"
        "report = plan_report(load_experiment(None, []))\n"
        "print(report['parameters']['encoder'], 'transformers' in sys.modules)"
    )
    first, second = (
        subprocess.run([sys.executable, "-c", plan], check=True, capture_output=True, text=True).stdout.split()
        for _ in range(2)
    )
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("True", "False")
