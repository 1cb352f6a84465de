"""A workplace as the pages assume it: an experiment, finished runs, recordings; all of them tiny."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "cli")]

from blocks import ROOT  # noqa: E402

from sordino.data import read_audio, write_audio  # noqa: E402
from sordino.experiments import Progress, Silent, load_experiment, run_federated  # noqa: E402
from sordino.privacy import ALLOCATIONS  # noqa: E402

PEOPLE = ("anna", "ben", "clara", "dan", "eva", "finn")


@pytest.fixture(scope="session")
def prepared(small_text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``my.toml``, ``runs/{first,second,interrupted}`` and ``recordings/NAME/N.flac`` with a text file beside each."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "my.toml").write_text(small_text, encoding="utf-8")
    options = load_experiment(folder / "my.toml")
    run_federated(options, folder / "runs" / "first")
    shutil.copytree(folder / "runs" / "first", folder / "runs" / "second")
    with pytest.raises(KeyboardInterrupt):
        run_federated(options, folder / "runs" / "interrupted", observer=Impatient())
    spoken = options.data.corpus.load(2.0).train
    names = dict(zip(sorted({utterance.speaker for utterance in spoken}), PEOPLE, strict=True))
    for utterance in spoken:
        place = folder / "recordings" / names[utterance.speaker]
        place.mkdir(parents=True, exist_ok=True)
        copy = place / f"{len(list(place.glob('*.flac')))}.flac"
        write_audio(copy, 0.5 * read_audio(utterance.audio))  # half as loud: the loudest voices are overdriven
        copy.with_suffix(".txt").write_text(utterance.text, encoding="utf-8")
    return folder


class Impatient(Silent):
    """Presses Ctrl-C after the first round."""

    def progress(self, progress: Progress) -> None:
        raise KeyboardInterrupt


@pytest.fixture
def workplace(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to work in, with its default job as tiny as the rest."""
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder)
    (folder / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr("sordino.experiments.loading.default_job", lambda: folder / "my.toml")
    monkeypatch.setattr(ALLOCATIONS, "_members", dict(ALLOCATIONS))  # what a page registers ends with its test
    monkeypatch.delitem(sys.modules, "halfway", raising=False)
    for name in ("SORDINO_DATA", "SORDINO_WEIGHTS"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return folder
