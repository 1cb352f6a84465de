"""Runs an experiment with personal recognisers in a run folder, from the start or from where it was interrupted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file, save

from sordino.config import to_toml
from sordino.experiments.measuring import versions
from sordino.experiments.observer import Observer, Progress, Silent
from sordino.experiments.personalised.bench import Bench, make_bench
from sordino.experiments.personalised.entrant import Outcome, compete, train_together, untouched
from sordino.experiments.personalised.keeping import keep_outcome, kept_outcome
from sordino.experiments.personalised.verdict import differences, rates
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.privacy import Event, Ledger, Terms, guaranteed, make_statement, make_terms
from sordino.records import RunFolder, replace_file

__all__ = ["run_personalised"]

TEST_IS: Final = "held-out utterances of the speakers who train, each heard by the speaker's own model"

_CAVEAT: Final = "debug telemetry wrote every speaker's errors under every method, and the work that each method took"
_REFERENCES: Final = {"start": untouched, "central": train_together}


def run_personalised(
    options: PersonalisedExperiment, path: Path, *, resume: bool = False, observer: Observer | None = None
) -> dict[str, Any]:
    """Runs every method and reference that is not done yet, and compares them.

    A method that was interrupted is done again from its start, and pays again; those that were done before are kept.

    Args:
        options: the experiment.
        path: where the run folder is made; nothing is made before corpus, model and start are there.
        resume: continue the interrupted run at ``path`` instead.
        observer: is told the progress.

    Returns:
        What ``sordino run --json`` prints.

    Raises:
        BudgetExhausted: the budget does not cover a method's rounds.
        ConfigError: ``path`` is taken, or holds no run to resume; options that do not fit each other.
    """
    started, observer = time.monotonic(), observer or Silent()
    folder = RunFolder.open(path) if resume else RunFolder(path)
    if not resume:
        folder.require_free()
    begun = _kept_start(folder)
    bench = make_bench(options, observer, start=begun)
    if not resume:
        folder = RunFolder.create(path, config=to_toml(options))
    if begun is None:
        replace_file(_start_file(folder), save({"values": bench.start}))
    with Ledger(folder.ledger, terms=_terms(bench)) as ledger:
        outcomes = {
            name: _outcome(folder, name, entrant, ledger, observer)
            for name, entrant in _entrants(bench, ledger, observer)
        }
        return _finish(bench, folder, ledger, outcomes, seconds=time.monotonic() - started)


def _start_file(folder: RunFolder) -> Path:
    return folder.path / "start.safetensors"


def _kept_start(folder: RunFolder) -> torch.Tensor | None:
    path = _start_file(folder)
    return load_file(path)["values"] if path.is_file() else None


def _terms(bench: Bench) -> Terms:
    """What the ledger's guarantee is about. It holds what all methods released; the budget is of each by itself."""
    privacy = bench.options.privacy
    terms = make_terms(
        privacy,
        population=len(bench.speakers.known),
        clients_per_speaker=1,
        seeded=bench.options.simulation.seeded,
        caveats=() if privacy.mechanism == "none" else (_CAVEAT,),
    )
    return terms if len(bench.options.methods) == 1 else replace(terms, budget=None)


@dataclass(frozen=True, slots=True)
class _Telling:
    """Tells how far all methods together are, in passes."""

    observer: Observer
    name: str
    place: int
    methods: int
    passes: int

    def __call__(self, done: int, rounds: int) -> None:
        spent = self.place * self.passes + self.passes * done // rounds
        words = f"{self.name}: round {done} of {rounds}"
        self.observer.progress(Progress(round=spent, rounds=self.methods * self.passes, unit="pass", figures=words))


def _entrants(bench: Bench, ledger: Ledger, observer: Observer) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Everything that is compared, by name, and how it is run."""
    for name in bench.options.evaluation.references:
        yield name, partial(_REFERENCES[name], bench, ledger)
    methods = bench.options.methods
    for place, (name, method) in enumerate(methods.items()):
        telling = _Telling(observer, name, place, len(methods), bench.options.federated.passes)
        yield name, partial(compete, bench, name, method, ledger, after_round=telling)


def _outcome(
    folder: RunFolder, name: str, entrant: Callable[[], Outcome], ledger: Ledger, observer: Observer
) -> Outcome:
    """What is kept of an earlier process, or else the outcome of running it now."""
    outcome = kept_outcome(folder, name)
    if outcome is None:
        outcome = entrant()
        keep_outcome(folder, name, outcome)
    elif ledger.terms.seeded:
        for charge in ledger.charges[
            slice(*outcome.charges)
        ]:  # a replay that the next method must not take for its own
            ledger.charge(charge.event, round=charge.round)
    observer.note(f"{name}: word error rate {100 * rates(outcome.test, {})['wer']:.1f} %")
    return outcome


def _finish(
    bench: Bench, folder: RunFolder, ledger: Ledger, outcomes: Mapping[str, Outcome], *, seconds: float
) -> dict[str, Any]:
    """Compares everything, and writes guarantee and result."""
    options = bench.options
    guarantee = make_statement(ledger.terms, ledger.events)
    folder.write_json(folder.privacy, guarantee.to_json())
    result = {
        "task": options.task,
        "run": str(folder.path),
        "test_is": TEST_IS,
        "speakers": {name: speaker.group for name, speaker in bench.speakers.known.items()},
        "passes": options.federated.passes,
        "methods": {name: _row(bench, ledger, name, outcome) for name, outcome in outcomes.items()},
        "tests": differences({name: outcome.test for name, outcome in outcomes.items()}, baseline=options.baseline),
        "best_on_development": _best(outcomes, list(options.methods)),
        "epsilon": guarantee.to_json()["epsilon"],
        "unit": guarantee.terms.unit,
        "statement": guarantee.words,
        "seconds": round(seconds, 1),
    }
    folder.write_json(folder.result, {**result, "versions": versions()})
    return result


def _row(bench: Bench, ledger: Ledger, name: str, outcome: Outcome) -> dict[str, Any]:
    options, terms = bench.options, ledger.terms
    events = ledger.events[slice(*outcome.charges)]
    return {
        "method": options.methods[name].name if name in options.methods else None,
        **rates(outcome.test, bench.speakers.groups),
        "development_wer": rates(outcome.development, {})["wer"] if outcome.development else None,
        **asdict(outcome.cost),
        "epsilon": _epsilon(events, terms) if options.privacy.mechanism != "none" else None,
    }


def _epsilon(events: Sequence[Event], terms: Terms) -> float | None:
    """Of one method by itself; None where something of it was released without noise."""
    value = guaranteed(events, delta=terms.delta, multiplicity=terms.multiplicity).value
    return value if value is not None and math.isfinite(value) else None


def _best(outcomes: Mapping[str, Outcome], methods: Sequence[str]) -> str | None:
    """The method with the lowest error rate on the development utterances: the one to choose, without a look at the test."""
    known = {name: outcomes[name].development for name in methods if outcomes[name].development}
    return min(known, key=lambda name: rates(known[name], {})["wer"], default=None)
