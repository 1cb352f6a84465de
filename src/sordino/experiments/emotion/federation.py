"""Runs federated training of an emotion network in a run folder."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from sordino.config import to_toml
from sordino.experiments.emotion.folds import divide
from sordino.experiments.emotion.material import Material, gather_material
from sordino.experiments.emotion.scoring import Guesses, by_mask, changes, guesses
from sordino.experiments.measuring import versions
from sordino.experiments.observer import Observer, Progress, Silent
from sordino.experiments.tasks.federated_emotion import FederatedEmotionExperiment
from sordino.federated import InProcess, ServerState, run_rounds
from sordino.federated.emotion_training import EmotionLearner
from sordino.modality import never_exposed
from sordino.models.emotion import Clips
from sordino.models.emotion.storage import save_network
from sordino.privacy import Ledger, NoiseSource, Terms, guaranteed, make_round_plan, make_statement, make_terms
from sordino.records import RunFolder
from sordino.seeds import Seeds

__all__ = ["run_federated_emotion"]

_TESTED = 4
"""Every fourth clip of a client is kept to test the client's own model."""


@dataclass(frozen=True, eq=False)
class _Bench:
    """What the federation works on.

    Attributes:
        learner: the network, started from public speakers, with every client's clips.
        test: clips of speakers that nothing is trained on.
        own: for each client, clips that are kept to test its own model.
    """

    learner: EmotionLearner
    test: Clips
    own: Mapping[str, Clips]


def run_federated_emotion(
    options: FederatedEmotionExperiment, path: Path, *, resume: bool = False, observer: Observer | None = None
) -> dict[str, Any]:
    """Trains for all rounds and writes the result; an interrupted run is done again, and pays again.

    Raises:
        ConfigError: ``path`` is taken, or holds no run to resume.
        BudgetExhausted: the budget does not cover the rounds.
    """
    started, observer = time.monotonic(), observer or Silent()
    folder = RunFolder.claim(path, resume=resume)
    if options.simulation.threads:
        torch.set_num_threads(options.simulation.threads)
    material = gather_material(options.data, options.model, tick=lambda _, __: None)
    for note in material.notes:
        observer.note(note)
    seeds = Seeds(options.seed)
    bench = _bench(options, material, seeds)
    terms = _terms(options, len(bench.own))
    folder.begin(config=to_toml(options))
    before = guesses(bench.learner.network, bench.test, options.model.modalities)
    with Ledger(folder.ledger, terms=terms) as ledger:
        personal = _rounds(options, bench, ledger, seeds, observer)
        statement = make_statement(ledger.terms, ledger.events)
    save_network(bench.learner.network, folder.model, classes=material.classes)
    folder.write_json(folder.privacy, statement.to_json())
    result = {
        "task": "federated-emotion",
        "run": str(folder.path),
        **_scores(options, bench, before, material.classes, seeds.at("bootstrap")),
        "personal": personal,
        "rounds": options.federated.rounds,
        "statement": statement.words,
        "epsilon": statement.to_json()["epsilon"],
        "unit": terms.unit,
        "seconds": round(time.monotonic() - started, 1) if options.telemetry == "debug" else None,
    }
    folder.write_json(folder.result, {**result, "versions": versions()})
    return {**result, "seconds": round(time.monotonic() - started, 1)}


def _bench(options: FederatedEmotionExperiment, material: Material, seeds: Seeds) -> _Bench:
    rows = next(divide(material, folds=options.folds, public_speakers=options.data.public_speakers, seeds=seeds))
    public, private = material.clips.take(rows.public), material.clips.take(rows.private)
    network = never_exposed(
        public,
        options.model.modalities,
        outputs=material.num_outputs,
        branch=options.model.branch,
        training=options.start,
        seeds=seeds.at("start"),
    )
    known, own = {}, {}
    for speaker in sorted(set(private.speakers)):
        clips = private.of_speakers([speaker])
        every = torch.arange(len(clips))
        kept = (every % _TESTED == _TESTED - 1) & options.federated.method.personal_models
        known[speaker], own[speaker] = clips.take(every[~kept]), clips.take(every[kept])
    learner = EmotionLearner(network, known, options.federated.local, options.absence_rate)
    return _Bench(learner, material.clips.take(rows.test), own)


def _terms(options: FederatedEmotionExperiment, clients: int) -> Terms:
    shown = ("how well clients are served by their own models (telemetry = debug)",)
    return make_terms(
        options.privacy,
        population=clients,
        clients_per_speaker=1,
        seeded=options.simulation.seeded,
        caveats=shown if options.federated.method.personal_models else (),
    )


def _rounds(
    options: FederatedEmotionExperiment, bench: _Bench, ledger: Ledger, seeds: Seeds, observer: Observer
) -> dict[str, float] | None:
    """All rounds; leaves the global network in the learner, and returns how well clients are served by their own."""
    learner, method, rounds = bench.learner, options.federated.method, options.federated.rounds
    plan = make_round_plan(
        options.privacy,
        phases=method.phases(learner.layout),
        layout=learner.layout,
        cohort=options.federated.cohort,
        rounds=rounds,
        terms=ledger.terms,
    )
    backend = InProcess((learner,), tuple(bench.own), options.federated.dropout_rate)
    state = ServerState(0, learner.flat.snapshot())
    noise = NoiseSource(seeds.at("privacy") if options.simulation.seeded else None)
    for result in run_rounds(
        state,
        plan,
        rounds=rounds,
        method=method,
        backend=backend,
        ledger=ledger,
        noise=noise,
        seeds=seeds.at("training"),
    ):
        state = result.state
        spent = guaranteed(ledger.events, delta=ledger.terms.delta, multiplicity=ledger.terms.multiplicity).value
        figures = "no guarantee" if spent is None or spent == float("inf") else f"epsilon {spent:.2f}"
        observer.progress(Progress(round=state.round, rounds=rounds, figures=figures))
    served = None
    if method.personal_models:
        models = {
            client: method.personal(
                method.parting(state, client, learner.layout),
                client,
                learner=learner,
                memory=backend.memory.of(client, (rounds + 1, 0)),
                seeds=seeds.at(client),
            )
            for client in bench.own
        }
        served = {client: _accuracy(learner, models[client], clips) for client, clips in bench.own.items()}
    learner.flat.load(state.values)
    return served


def _accuracy(learner: EmotionLearner, values: torch.Tensor, clips: Clips) -> float:
    learner.flat.load(values)
    return float((learner.network.predict(clips) == clips.targets).float().mean())


def _scores(
    options: FederatedEmotionExperiment, bench: _Bench, before: Guesses, classes: Sequence[str], seeds: Seeds
) -> dict[str, Any]:
    """``masks`` of the network as it is now, ``before`` the rounds, and by mask the accuracy ``against_before``."""
    modalities, clips = options.model.modalities, [bench.test]
    after = guesses(bench.learner.network, bench.test, modalities)
    return {
        "masks": by_mask(clips, [after], classes, modalities, seeds),
        "before": by_mask(clips, [before], classes, modalities, seeds),
        "against_before": changes(clips, [before], [after], classes, seeds.at("change")) if classes else None,
    }
