"""Runs a split experiment in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sordino.experiments.observer import Observer, Silent
from sordino.experiments.split.attacking import attack
from sordino.experiments.split.attacking_methods import attack_methods
from sordino.experiments.split.beginning import Begun, begin
from sordino.experiments.split.finishing import common_result, times_drawn
from sordino.experiments.split.in_turn import fit_in_turn
from sordino.experiments.split.material import divided, exchanges
from sordino.experiments.split.measuring import measured
from sordino.experiments.split.staging import staged
from sordino.experiments.tasks.split import SplitExperiment
from sordino.seeds import Seeds
from sordino.split.fitting import FittedCorrector
from sordino.split.keeping import save_corrector
from sordino.split.readout import Labels

__all__ = ["run_split"]


def run_split(
    options: SplitExperiment, path: Path, *, resume: bool = False, observer: Observer | None = None
) -> dict[str, Any]:
    """Sends each text once, trains the methods, attacks what was sent, and writes the result.

    Args:
        options: the experiment.
        path: where the run folder is made.
        resume: go on in it: what was drawn is sent again as it was, and what was fetched is not asked for again.
        observer: is told the progress.

    Returns:
        What ``sordino run --json`` prints.

    Raises:
        ConfigError: ``path`` is taken, or holds no run to resume; no such model, server or texts.
    """
    with begin(options, path, deal=divided, resume=resume) as begun:
        return begun.finish(_run(options, begun, observer=observer or Silent()))


def _run(options: SplitExperiment, begun: Begun, *, observer: Observer) -> dict[str, Any]:
    seeds, texts, served, sender = Seeds(options.seed), begun.texts, begun.served, begun.sender
    embedding, folder = begun.embedding, begun.folder
    material = exchanges(options, texts, served, embedding=embedding, sender=sender, folder=begun.kept)
    scene = staged(options, material, served, readout=Labels(len(texts.labels)), sender=sender, observer=observer)
    debug = options.telemetry == "debug"
    attacks = attack(options.attacks, texts, material, embedding=embedding, sender=sender, seeds=seeds) if debug else {}
    fitted = fit_in_turn(options.methods[: options.num_steps], scene, observer=observer)
    first = fitted[options.methods[0].name][0]
    if isinstance(first, FittedCorrector):
        save_corrector(folder.model, first, labels=texts.labels, max_tokens=options.data.max_tokens)
    if debug:
        attacks |= attack_methods(
            options.attacks, {name: model for name, (model, _) in fitted.items()}, material, embedding=embedding
        )
    draws = times_drawn(sender)
    methods = measured(options.methods, fitted, material, attacks=attacks, draws=draws, seeds=seeds) if debug else {}
    said = common_result(served, sender, material, place=options.server.place, layers=scene.layers, folder=folder)
    return {"task": options.task, "run": str(folder.path), "methods": methods, "attacks": attacks, **said}
