"""Runs an emotion experiment in a run folder: network, withdrawal, measurements, certificate."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from sordino.config import to_toml
from sordino.experiments.emotion.attacking import attack
from sordino.experiments.emotion.folds import Fold, folds_of
from sordino.experiments.emotion.material import gather_material
from sordino.experiments.emotion.scoring import Tested, scores
from sordino.experiments.measuring import versions
from sordino.experiments.observer import Observer, Progress, Silent
from sordino.experiments.tasks.emotion import EmotionExperiment
from sordino.modality import Case, Withdrawal, fingerprint
from sordino.modality.certificate import RECORD, issue_certificate
from sordino.models.emotion.storage import save_network
from sordino.privacy import Ledger, NoiseSource, make_statement
from sordino.records import RunFolder
from sordino.reporting.certificate import write_certificate_page
from sordino.seeds import Seeds

__all__ = ["run_emotion"]


def run_emotion(
    options: EmotionExperiment, path: Path, *, resume: bool = False, observer: Observer | None = None
) -> dict[str, Any]:
    """Trains, withdraws, measures and certifies.

    Args:
        options: the experiment.
        path: where the run folder is made.
        resume: do an interrupted run again in its folder; what it had charged stays charged.
        observer: is told the progress.

    Returns:
        What ``sordino run --json`` prints.

    Raises:
        ConfigError: ``path`` is taken, or holds no run to resume.
        BudgetExhausted: what an interrupted run had charged leaves too little of the budget.
    """
    started, observer = time.monotonic(), observer or Silent()
    folder = RunFolder.claim(path, resume=resume)
    if resume and folder.result.exists():
        finished: dict[str, Any] = json.loads(folder.result.read_text(encoding="utf-8"))
        return finished
    if options.simulation.threads:
        torch.set_num_threads(options.simulation.threads)
    material = gather_material(options.data, options.model, tick=lambda done, of: _tick(observer, done, of))
    for note in material.notes:
        observer.note(note)
    folder.begin(config=to_toml(options))
    seeds = Seeds(options.seed)
    noise = NoiseSource(seeds.at("noise") if options.simulation.seeded else None)
    tested: list[Tested] = []
    for fold in folds_of(options, material, seeds=seeds):
        case = fold.case()
        with _ledger(options, case, folder if fold.number == 0 else None) as ledger:
            withdrawal = options.modality.mode.withdraw(case, ledger=ledger, noise=noise, place=f"fold {fold.number}")
            if fold.number == 0:
                first, statement = (fold, case, withdrawal), make_statement(ledger.terms, ledger.events)
        tested.append(Tested.of(fold, case, withdrawal))
        observer.progress(_progress(options, tested))
    masks = scores(tested, withdrawn=options.modality.withdrawn, options=options, seeds=seeds.at("bootstrap"))
    attacks = attack(first[0], noise=noise) if options.evaluation.attacks else None
    _keep(folder, *first, masks=masks, attacks=attacks)
    certificate = issue_certificate(folder)
    folder.write_json(folder.path / "certificate.json", certificate)
    write_certificate_page(certificate, folder.path / "certificate.html")
    folder.write_json(folder.privacy, statement.to_json())
    result = {
        "task": "emotion",
        "run": str(folder.path),
        **masks,
        "attacks": attacks,
        "certificate": {key: certificate[key] for key in ("epsilon", "delta", "mode", "guarantee")},
        "statement": statement.words,
        "epsilon": statement.to_json()["epsilon"],
        "unit": statement.terms.unit,
        "seconds": round(time.monotonic() - started, 1),
    }
    folder.write_json(folder.result, {**result, "versions": versions()})
    return result


@contextmanager
def _ledger(options: EmotionExperiment, case: Case, folder: RunFolder | None) -> Iterator[Ledger]:
    """The run's ledger, or one of a further fold's model, which is measured and then forgotten."""
    terms = options.modality.mode.terms(case, seeded=options.simulation.seeded)
    if options.telemetry == "debug":
        shown = "accuracies before the withdrawal, those of further folds, and what attacks report (telemetry = debug)"
        terms = replace(terms, caveats=(*terms.caveats, shown))
    if folder is not None:
        with Ledger(folder.ledger, terms=terms) as ledger:
            yield ledger
        return
    with tempfile.TemporaryDirectory() as place, Ledger(Path(place) / "ledger.jsonl", terms=terms) as ledger:
        yield ledger


def _keep(
    folder: RunFolder,
    fold: Fold,
    case: Case,
    withdrawal: Withdrawal,
    *,
    masks: Mapping[str, Any],
    attacks: Mapping[str, Any] | None,
) -> None:
    """Writes the released network, and what the certificate is made from."""
    options = fold.options
    save_network(withdrawal.network, folder.model, classes=fold.material.classes)
    twin = fold.never_exposed()
    before = fingerprint(case.exposed_network) if options.telemetry == "debug" else None
    others = ", ".join(case.kept.modalities)
    record = {
        "mode": type(options.modality.mode).name,
        "modality": case.modality,
        "training": options.modality.training,
        "scope": f"what the network shows of {case.modality}; it says nothing about {others}, from which it learnt openly",
        "mechanism": withdrawal.mechanism,
        "hashes": {
            "kept": fingerprint(case.kept),
            "never_exposed": fingerprint(twin),
            "reference": fingerprint(case.reference),
            "before": before,
        },
        "tests": {
            "kept_equals_never_exposed": fingerprint(case.kept) == fingerprint(twin),
            "masks": {name: row.get("accuracy") for name, row in masks["masks"].items()},
            "attacks": attacks,
        },
    }
    folder.write_json(folder.path / RECORD, record)


def _tick(observer: Observer, done: int, of: int) -> None:
    if done in (1, of):
        observer.note(f"heard {done} of {of} utterances")


def _progress(options: EmotionExperiment, tested: list[Tested]) -> Progress:
    right = sum(part.right for part in tested)
    figures = f"accuracy with all modalities {100 * right / sum(part.size for part in tested):.1f} %"
    return Progress(round=len(tested), rounds=options.num_steps or len(tested), unit="fold", figures=figures)
