"""Real runs to report on, made once: private enough to be called so, in name only, and not at all; and a comparison."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sordino.experiments import load_experiment, run_federated
from sordino.experiments.comparison import Variant, compare
from sordino.experiments.sharing import Shared
from sordino.reporting import write_report

sys.path.insert(0, str(Path(__file__).parent))

from reading_back import Page, assert_sound

BROKEN = "<b>broke</b> & $x_1$"
"""Name of the variant that cannot be run."""

VARIANTS = (
    Variant("flat", ("privacy.allocation=flat",)),
    Variant("alpha-split, z = 0.2", ("privacy.allocation=alpha-split", "privacy.noise_multiplier=0.2")),
    Variant(BROKEN, ("privacy.epsilon=0.001",)),
)


WEIGHTS = shutil.ignore_patterns("*.safetensors")
"""Reports do not read them, and a test that changes a copy need not copy them."""


@pytest.fixture(scope="session")
def experiment(small_text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("experiment") / "experiment.toml"
    path.write_text(f'telemetry = "debug"\n{small_text}\n[evaluation]\nevery = 1\n', encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def comparison(experiment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished comparison of `VARIANTS` over two seeds, whose reference is the first."""
    folder = tmp_path_factory.mktemp("comparisons") / "small"
    compare(experiment, VARIANTS, folder, seeds=[0, 1])
    return folder


@pytest.fixture(scope="session")
def runs(comparison: Path, experiment: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of finished runs: ``sound`` (epsilon 5.8), ``weak`` (above 20), ``none``, and ``private`` telemetry."""
    root = tmp_path_factory.mktemp("runs")
    shutil.copytree(comparison / "flat-seed0", root / "sound")
    shutil.copytree(comparison / "alpha-split-z-0.2-seed0", root / "weak")
    shared = Shared()
    for name, changes in {
        "none": ["privacy.mechanism=none"],
        "private": ["telemetry=private", "evaluation.every=0"],
    }.items():
        run_federated(load_experiment(experiment, changes), root / name, shared=shared)
    return {name: root / name for name in ("sound", "weak", "none", "private")}


@pytest.fixture(scope="session")
def written(runs: dict[str, Path], comparison: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The page of these runs, or of the ``comparison``, written once; figures of ``private`` and the latter beside it."""
    root = tmp_path_factory.mktemp("pages")

    def write(*names: str) -> Path:
        path = root / "-".join(names) / "report.html"
        if not path.exists():
            folders = {**runs, "comparison": comparison}
            figures = path.parent / "figures" if {"private", "comparison"} & set(names) else None
            write_report([folders[name] for name in names], path, figures=figures)
        return path

    return write


@pytest.fixture
def page(written: Callable[..., Path]) -> Callable[..., Page]:
    """The same, read back and found sound."""

    def read(*names: str) -> Page:
        found = Page(written(*names))
        assert_sound(found)
        return found

    return read


@pytest.fixture
def copied(runs: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of one of the runs, to be changed."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(runs[name], tmp_path / name, ignore=WEIGHTS))

    return copy


@pytest.fixture
def copied_comparison(comparison: Path, tmp_path: Path) -> Path:
    """The comparison at another place, to be changed."""
    return Path(shutil.copytree(comparison, tmp_path / "moved", ignore=WEIGHTS))


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
