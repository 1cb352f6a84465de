"""Runs a federated experiment in a run folder, from the start or from where it was interrupted."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sordino.config import to_toml
from sordino.errors import BudgetExhausted
from sordino.evaluation import WerReport
from sordino.experiments.assembly import Assembly, assemble
from sordino.experiments.measuring import brief, measure, measure_seen, versions
from sordino.experiments.observer import Observer, Progress, Silent
from sordino.experiments.on_flower.remote import Remote
from sordino.experiments.sharing import Shared
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.federated import RoundResult, ServerState, load_checkpoint, run_rounds, save_checkpoint
from sordino.privacy import Ledger, Plan, PrivacyPlan, guaranteed, make_statement
from sordino.records import RunFolder

__all__ = ["run_federated"]

_Known = tuple[int, float] | tuple[None, None]
"""The last round that was measured, and its word error rate."""


def run_federated(
    options: FederatedExperiment,
    path: Path,
    *,
    resume: bool = False,
    observer: Observer | None = None,
    shared: Shared | None = None,
    remote: Remote | None = None,
) -> dict[str, Any]:
    """Runs all rounds that remain and writes the result.

    Args:
        options: the experiment.
        path: where the run folder is made; nothing is made before corpus, model and plan are known to be sound.
        resume: continue the interrupted run at ``path`` instead.
        observer: is told the progress.
        shared: what other runs of this process have loaded already.
        remote: reaches clients elsewhere; without it they are in this process.

    Returns:
        What ``sordino run --json`` prints.

    Raises:
        BudgetExhausted: the budget does not cover a single round.
        ConfigError: ``path`` is taken, or holds no run to resume.
    """
    started = time.monotonic()
    observer = observer or Silent()
    folder = RunFolder.claim(path, resume=resume)
    parts = assemble(options, shared=shared, remote=remote)
    _announce(parts, observer)
    folder.begin(config=to_toml(options))
    with Ledger(folder.ledger, terms=parts.terms) as ledger:
        state, plan = _start(parts, folder)
        stopped, known = None, _newest_wer(folder)
        rounds = run_rounds(
            state,
            plan,
            rounds=options.federated.rounds,
            method=options.federated.method,
            backend=parts.backend,
            ledger=ledger,
            noise=parts.noise,
            seeds=parts.seeds.at("training"),
        )
        try:
            for result in rounds:
                state = result.state
                known = _record(parts, folder, ledger, result, observer, known=known)
        except BudgetExhausted as error:
            if state.round == 0:
                raise
            stopped = f"stopped after round {state.round} of {options.federated.rounds}: {error}"
            observer.note(stopped)
        return _finish(parts, folder, ledger, state, stopped=stopped, seconds=time.monotonic() - started)


def _announce(parts: Assembly, observer: Observer) -> None:
    for note in parts.splits.notes:
        observer.note(note)
    if not parts.may_measure:
        observer.note(
            "No word error rate is shown: the test clips are of training speakers, so it would be outside the guarantee; "
            'set telemetry = "debug" to see it.'
        )
    if parts.terms.seeded and isinstance(parts.plan, PrivacyPlan):
        observer.note("Seeded simulation: cohorts and noise can be repeated by whoever knows the seed.")


def _start(parts: Assembly, folder: RunFolder) -> tuple[ServerState, Plan]:
    """The state and plan to go on from; a new run measures the untouched model and makes its first checkpoint."""
    if folder.checkpoint.exists():
        state, learned = load_checkpoint(folder.checkpoint, digest=parts.plan.layout.digest)
        folder.keep_rounds(state.round)
        return state, parts.plan.resumed(learned)
    state = ServerState(0, parts.model.flat.snapshot())
    folder.keep_rounds(-1)
    folder.append_round({"round": 0, "wer": brief(measure(parts, state.values, folder, keep="before"))})
    save_checkpoint(folder.checkpoint, state, parts.plan.learned, digest=parts.plan.layout.digest)
    return state, parts.plan


def _newest_wer(folder: RunFolder) -> _Known:
    measured = ((line["round"], line["wer"]["wer"]) for line in reversed(folder.read_rounds()) if line["wer"])
    return next(measured, (None, None))


def _record(
    parts: Assembly,
    folder: RunFolder,
    ledger: Ledger,
    result: RoundResult[Plan],
    observer: Observer,
    *,
    known: _Known,
) -> _Known:
    """Writes the round's line, then its checkpoint, so that a checkpoint is never ahead of the records.

    Returns:
        The newest measurement, ``known`` if this round made none.
    """
    options, state = parts.options, result.state
    due = options.evaluation.every and state.round % options.evaluation.every == 0
    wer = brief(measure(parts, state.values, folder)) if due and state.round < options.federated.rounds else None
    spent = guaranteed(ledger.events, delta=ledger.terms.delta, multiplicity=ledger.terms.multiplicity).value
    spent = spent if spent is not None and math.isfinite(spent) else None
    line: dict[str, Any] = {"round": state.round, "wer": wer, "epsilon": spent}
    if options.telemetry == "debug":
        line["telemetry"] = result.telemetry.to_json()
    folder.append_round(line)
    save_checkpoint(folder.checkpoint, state, result.plan.learned, digest=parts.plan.layout.digest)
    measured, newest = known = (state.round, wer["wer"]) if wer else known
    observer.progress(
        Progress(round=state.round, rounds=options.federated.rounds, wer=newest, measured=measured, epsilon=spent)
    )
    return known


def _finish(
    parts: Assembly, folder: RunFolder, ledger: Ledger, state: ServerState, *, stopped: str | None, seconds: float
) -> dict[str, Any]:
    """Measures the final model and writes model, guarantee and result."""
    after = measure(parts, state.values, folder, keep="after")
    seen = measure_seen(parts, state.values, folder)
    parts.model.flat.load(state.values)
    parts.model.save(folder.model)
    guarantee = make_statement(ledger.terms, ledger.events)
    folder.write_json(folder.privacy, guarantee.to_json())
    before = folder.read_rounds()[0]["wer"]
    result = {
        "run": str(folder.path),
        "wer": _wer(before, after, test_is=parts.splits.test_is, seen=seen),
        "epsilon": guarantee.to_json()["epsilon"] if isinstance(parts.plan, PrivacyPlan) else _no_epsilon(),
        "unit": guarantee.terms.unit,
        "statement": guarantee.words,
        "noise_multiplier": parts.plan.noise_multiplier if isinstance(parts.plan, PrivacyPlan) else 0.0,
        "rounds": state.round,
        "stopped": stopped,
        "seconds": round(seconds, 1),
    }
    kept = {**result, "versions": versions(), "report": after.dump() if after else None}
    if parts.options.telemetry == "private":
        kept["seconds"] = None  # how long the clients took tells something of how many there were
    folder.write_json(folder.result, kept)
    return result


def _wer(
    before: Mapping[str, Any] | None, after: WerReport | None, *, test_is: str, seen: WerReport | None
) -> dict[str, Any]:
    return {
        "before": before["wer"] if before else None,
        "after": after.wer if after else None,
        "ci95": list(after.ci95) if after and after.ci95 else None,
        "test_is": test_is,
        "seen": brief(seen),
    }


def _no_epsilon() -> dict[str, Any]:
    return {"pld": None, "rdp": None, "delta": None, "by_unit": None}
