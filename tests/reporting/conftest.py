"""Real runs to report on, made once: private enough to be called so, in name only, and not at all."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sordino.experiments import load_experiment, run_federated

sys.path.insert(0, str(Path(__file__).parent))

EXPERIMENT = """
telemetry = "debug"

[data.corpus]
method = "synthetic-voices"
voices = 6
utterances_per_voice = 3
held_out_voices = 3
utterances_per_held_out_voice = 2

[federated]
rounds = 3
cohort = { method = "poisson", rate = 0.5 }
local = { epochs = 1, lr = 3e-3, batch_size = 8 }

[privacy]
noise_multiplier = 1.0
population = 6

[evaluation]
every = 1

[simulation]
threads = 1
"""

CHANGES = {
    "sound": ["privacy.allocation=flat"],
    "weak": ["privacy.noise_multiplier=0.2", "privacy.allocation.method=alpha-split"],
    "none": ["privacy.mechanism=none"],
    "private": ["telemetry=private", "evaluation.every=0"],
}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of finished runs: ``sound`` (epsilon 5.8), ``weak`` (above 20), ``none``, and ``private`` telemetry."""
    root = tmp_path_factory.mktemp("runs")
    file = root / "experiment.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    for name, changes in CHANGES.items():
        run_federated(load_experiment(file, changes), root / name)
    return {name: root / name for name in CHANGES}


@pytest.fixture
def copied(runs: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of one of the runs, to be changed."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(runs[name], tmp_path / name))

    return copy


@pytest.fixture
def unfinished(copied: Callable[[str], Path]) -> Path:
    """What a run leaves that was killed in its last round."""
    folder = copied("sound")
    for name in ("result.json", "privacy.json", "transcripts/after.jsonl"):
        (folder / name).unlink()
    shutil.rmtree(folder / "model")
    lines = (folder / "rounds.jsonl").read_text().splitlines(keepends=True)
    (folder / "rounds.jsonl").write_text("".join(lines[:-1]) + lines[-1][:20])
    return folder
