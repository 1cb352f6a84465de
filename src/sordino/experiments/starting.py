"""``sordino init``: a first experiment, commented and sized to the recordings that are there."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from sordino._check import free_folder, positive
from sordino.config import dump
from sordino.data import Prepared, prepare, write_prepared
from sordino.data.sources.folder import Folder
from sordino.errors import ConfigError
from sordino.experiments.commented import render
from sordino.experiments.loading import load_federated
from sordino.experiments.planning import plan_report
from sordino.experiments.prospects import Prospects, prospects_of
from sordino.experiments.sizing import cohort_rate, training_for
from sordino.experiments.surveying import survey
from sordino.models import ModelOptions

__all__ = ["Start", "Started", "start_experiment"]

_FILE: Final = "experiment.toml"
_VOICES_WINDOW_S: Final = 2.0
"""What the synthetic digit strings fit into; pocket's own window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a first experiment is to be about; with neither ``audio`` nor ``manifest``, synthetic voices.

    Attributes:
        audio: folder of recordings, read as ``sordino data prepare folder`` does.
        manifest: manifest of recordings.
        language: language code of the recordings in ``audio``.
        model: what is adapted.
        epsilon: the guarantee.

    Raises:
        ConfigError: both kinds of recordings, or an epsilon that is none.
    """

    audio: Path | None = None
    manifest: Path | None = None
    language: str = ""
    model: ModelOptions = ModelOptions()  # noqa: RUF009 - frozen
    epsilon: float = 8.0

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        if self.audio is not None and self.manifest is not None:
            raise ConfigError("a folder of recordings and a manifest were both given; give one of them.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """An experiment that is ready to run.

    Attributes:
        file: its file.
        prepared: what was found in a folder of recordings.
        notes: what the user should know of the data, one sentence each.
        report: its `plan_report`.
        prospects: whether its guarantee leaves room to learn.
    """

    file: Path
    prepared: Prepared | None
    notes: tuple[str, ...]
    report: dict[str, Any]
    prospects: Prospects


def start_experiment(folder: Path, start: Start, *, watch: Callable[[Iterable[Any]], Iterable[Any]] = iter) -> Started:
    """Writes ``experiment.toml``, and for a folder of recordings their ``manifest.jsonl``, into a new folder.

    Args:
        folder: absent or empty.
        start: what it is about.
        watch: goes through the recordings one by one, and may show how far it is.

    Raises:
        ConfigError: ``folder`` is taken, or no such model.
        DataError: recordings that cannot be used; nothing is written then.
        PrivacyError: no noise reaches that epsilon.
    """
    folder = free_folder(folder.expanduser(), remedy="name another one, nothing is ever overwritten.")
    place = folder.resolve()
    draft = place.with_name(f".{place.name}.{os.getpid()}.draft")  # beside it, so that relative paths stay right
    made = [parent for parent in draft.parents if not parent.exists()]
    draft.mkdir(parents=True)
    try:
        started = _fill(draft, folder, start, watch)
        folder.mkdir(exist_ok=True)
        for item in sorted(draft.iterdir(), reverse=True):  # the manifest first, then the experiment that names it
            item.rename(folder / item.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        for parent in made:  # a mistake leaves nothing behind, not even the way to where it would have been
            if not any(parent.iterdir()):
                parent.rmdir()
    return started


def _fill(draft: Path, folder: Path, start: Start, watch: Callable[[Iterable[Any]], Iterable[Any]]) -> Started:
    prepared, manifest = None, start.manifest
    if start.audio is not None:
        source = Folder(language=start.language)
        prepared = prepare(watch(source.read(start.audio.expanduser())))
        write_prepared(prepared, draft)
        manifest = draft / "manifest.jsonl"
    values, notes = _for_voices(start) if manifest is None else _for_recordings(manifest.expanduser(), start)
    values |= {
        "file": shlex.quote(str(folder / _FILE)),
        "epsilon": start.epsilon,
        "base": start.model.base,
        "encoder": start.model.encoder,
        "decoder": start.model.decoder,
    }
    (draft / _FILE).write_text(render(values), encoding="utf-8")
    options = load_federated(draft / _FILE)
    return Started(
        file=folder / _FILE,
        prepared=prepared,
        notes=notes,
        report=plan_report(options),
        prospects=prospects_of(options),
    )


def _for_voices(start: Start) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The values of the default job, with other local training for another model."""
    job = dump(load_federated(None))
    federated, training = job["federated"], training_for(start.model)
    values = asdict(training) | {
        "title": "The default job: synthetic voices, to see how everything works.",
        "voices": job["data"]["corpus"],
        "population": job["privacy"]["population"],
        "rate": federated["cohort"]["rate"],
        "window_s": _VOICES_WINDOW_S,
        "server_lr": 1.0,
    }
    if start.model.base == "pocket":
        local = {name: federated["local"][name] for name in ("epochs", "lr", "batch_size")}
        values |= local | {"rounds": federated["rounds"], "server_lr": federated["method"]["server_lr"]}
    return values, ()


def _for_recordings(manifest: Path, start: Start) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Values that suit the recordings, and what to tell about them."""
    found = survey(manifest, start.model)
    values = asdict(training_for(start.model)) | {
        "title": "A first experiment on recordings of our own.",
        "voices": None,
        "manifest": manifest.name if start.audio is not None else str(manifest.absolute()),
        "held_out": found.corpus.held_out,
        "held_out_words": found.held_out,
        "tests_training_speakers": found.tests_training_speakers,
        "population": found.population,
        "rate": cohort_rate(found.population),
        "window_s": found.window_s,
        "server_lr": 1.0,
    }
    return values, found.notes
