"""Runs a split experiment in a run folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from sordino.config import to_toml
from sordino.experiments.measuring import versions
from sordino.experiments.observer import Observer, Silent
from sordino.experiments.split.attacking import attack
from sordino.experiments.split.attacking_methods import attack_methods
from sordino.experiments.split.exchanging import chosen_layers
from sordino.experiments.split.finishing import common_result, times_drawn
from sordino.experiments.split.in_turn import fit_in_turn
from sordino.experiments.split.material import Texts, divided, exchanges
from sordino.experiments.split.measuring import measured
from sordino.experiments.split.serving import Served, serving
from sordino.experiments.tasks.split import SplitExperiment
from sordino.models.checkpoints import read_config
from sordino.privacy import Ledger, NoiseSource, Terms
from sordino.records import RunFolder
from sordino.seeds import Seeds
from sordino.split.embedding import ClientEmbedding
from sordino.split.fitting import FittedCorrector
from sordino.split.keeping import save_corrector
from sordino.split.methods import Scene
from sordino.split.readout import Labels
from sordino.split.sending import Sender
from sordino.split.tally import Tally

__all__ = ["run_split"]

_CAVEATS = (
    "how many texts there are, and how many tokens each has, which the server sees",
    "what stays with the client (this run's folder, with a network trained on clean texts): the guarantee is against the "
    "server and whoever reads the wire",
)
_DEBUG = "figures measured on private test texts (debug telemetry)"


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
    started = time.monotonic()
    observer = observer or Silent()
    if options.simulation.threads:
        torch.set_num_threads(options.simulation.threads)
    folder = RunFolder.claim(path, resume=resume)
    texts = divided(options)
    if options.model.source != "tiny":
        read_config("model.source", options.model.source)  # before a folder is made for a model that is not there
    folder.begin(config=to_toml(options))
    with (
        serving(options, path, public=texts.sets["public"]) as served,
        Ledger(folder.ledger, terms=_terms(options, texts)) as ledger,
    ):
        result = _run(options, texts, served, ledger=ledger, folder=folder, observer=observer)
    result["seconds"] = round(time.monotonic() - started, 1)
    folder.write_json(folder.result, {**result, "versions": versions()})
    return result


def _terms(options: SplitExperiment, texts: Texts) -> Terms:
    return Terms(
        unit=options.privacy.unit,
        population=texts.num_private,
        clients_per_speaker=1,
        delta=options.privacy.delta,
        seeded=options.simulation.seeded,
        caveats=(*_CAVEATS, *((_DEBUG,) if options.telemetry == "debug" else ())),
    )


def _run(
    options: SplitExperiment, texts: Texts, served: Served, *, ledger: Ledger, folder: RunFolder, observer: Observer
) -> dict[str, Any]:
    seeds = Seeds(options.seed)
    embedding = ClientEmbedding.load(served.source)
    kept = folder.path / "exchange"
    sender = Sender(
        noise=options.privacy.noise,
        space=embedding.space(options.data.max_tokens),
        unit=options.privacy.unit,
        ledger=ledger,
        source=NoiseSource(seeds.at("noise") if options.simulation.seeded else None),
        folder=kept,
        tally=Tally(kept / "beside.json"),
    )
    material = exchanges(options, texts, served, embedding=embedding, sender=sender, folder=kept)
    layers = chosen_layers(options.model, served, material.noised["train"])
    observer.note(f"blocks {', '.join(map(str, layers))} of {served.server.describe().num_blocks} come back")
    scene = Scene(
        train=material.noised["train"],
        public=material.clean["public"],
        public_noised=material.noised["public"],
        clean=material.clean["train"],
        readout=Labels(len(texts.labels)),
        layers=layers,
        reduction=options.model.reduction,
        mode=options.training,
        sender=sender,
        seeds=seeds,
    )
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
    said = common_result(served, sender, material, place=options.server.place, layers=layers, folder=folder)
    return {"task": options.task, "run": str(folder.path), "methods": methods, "attacks": attacks, **said}
