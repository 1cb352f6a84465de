"""Runs an experiment with personal recognisers in a run folder, from the start or from where it was interrupted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from sordino.config import to_toml
from sordino.errors import ConfigError
from sordino.evaluation import Mark, pooled
from sordino.experiments.measuring import versions
from sordino.experiments.observer import Observer, Progress, Silent
from sordino.experiments.personalised.bench import make_bench
from sordino.experiments.personalised.entrant import compete
from sordino.experiments.personalised.entry import terms_of
from sordino.experiments.personalised.keeping import keep_outcome, kept_outcome
from sordino.experiments.personalised.outcome import Outcome
from sordino.experiments.personalised.references import adapt_each, train_together, untouched
from sordino.experiments.personalised.speakers import members
from sordino.experiments.personalised.start import keep_start
from sordino.experiments.personalised.venue import Venue
from sordino.experiments.personalised.verdict import differences, rates
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.privacy import Ledger, Terms, guaranteed, make_statement
from sordino.records import RunFolder

__all__ = ["MakesVenues", "run_personalised"]

TEST_IS: Final = "held-out utterances of the speakers who train, each heard by the speaker's own model"

_REFERENCES: Final = {"start": untouched, "central": train_together, "sd-adapters": adapt_each}


MakesVenues: TypeAlias = Callable[[PersonalisedExperiment, Observer], Venue]
"""Finds the speakers of an experiment under its seed, and makes the start that it asks for."""


def run_personalised(
    options: PersonalisedExperiment,
    path: Path,
    *,
    resume: bool = False,
    observer: Observer | None = None,
    at: MakesVenues = make_bench,
) -> dict[str, Any]:
    """Runs every method and reference that is not done yet, and compares them.

    A method that was interrupted is done again from its start, and pays again; those that were done before are kept.

    Args:
        options: the experiment.
        path: where the run folder is made; nothing is made before corpus, model and start are there.
        resume: continue the interrupted run at ``path`` instead.
        observer: is told the progress.
        at: where the speakers are; in this process if not given.

    Returns:
        What ``sordino run --json`` prints.

    Raises:
        BudgetExhausted: the budget does not cover a method's rounds.
        ConfigError: ``path`` is taken, or holds no run to resume; options that do not fit each other.
    """
    started, observer = time.monotonic(), observer or Silent()
    folder = RunFolder.claim(path, resume=resume)
    first = _venue(options, folder, options.repetitions[0], observer, at)
    folder.begin(config=to_toml(options))
    outcomes: dict[str, list[Outcome]] = {}
    with Ledger(folder.ledger, terms=_terms(first)) as ledger:
        for place, seed in enumerate(options.repetitions):
            venue = first if place == 0 else _venue(options, folder, seed, observer, at)
            keep_start(_start_file(folder, seed), venue.start, venue.model.layout)
            for name, entrant in _entrants(venue, ledger, _Telling(observer, options, place)):
                outcome = _outcome(folder, f"{name}-seed{seed}", entrant, ledger, speakers=venue.groups.keys())
                outcomes.setdefault(name, []).append(outcome)
                observer.note(f"{name}, seed {seed}: word error rate {100 * _rate(outcome.heard.test):.1f} %")
        return _finish(first, folder, ledger, outcomes, seconds=time.monotonic() - started)


def _start_file(folder: RunFolder, seed: int) -> Path:
    return folder.path / "starts" / f"seed{seed}.safetensors"


def _venue(options: PersonalisedExperiment, folder: RunFolder, seed: int, observer: Observer, at: MakesVenues) -> Venue:
    """Where everything runs under one seed, with the start of an interrupted run if there is one."""
    kept = _start_file(folder, seed)
    start = replace(options.start, kept=kept) if kept.is_file() else options.start
    return at(replace(options, seed=seed, start=start), observer)


def _terms(venue: Venue) -> Terms:
    return terms_of(venue.options, population=len(venue.groups), recordings=venue.recordings, caveats=venue.caveats)


@dataclass(frozen=True, slots=True)
class _Telling:
    """Tells how far all methods under all seeds together are, in passes.

    Args:
        observer: is told.
        options: the experiment.
        repetition: how many seeds are done.
        place: how many methods are done under this one.
        name: of the method that is being run.
    """

    observer: Observer
    options: PersonalisedExperiment
    repetition: int
    place: int = 0
    name: str = ""

    def __call__(self, done: int, rounds: int) -> None:
        passes, before = self.options.federated.passes, self.repetition * len(self.options.methods) + self.place
        spent, words = before * passes + passes * done // rounds, f"{self.name}: round {done} of {rounds}"
        self.observer.progress(Progress(round=spent, rounds=self.options.num_steps, unit="pass", figures=words))


def _entrants(venue: Venue, ledger: Ledger, telling: _Telling) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Everything that is compared, by name, and how it is run."""
    for name in venue.options.evaluation.references:
        yield name, partial(_REFERENCES[name], venue, ledger)
    for place, (name, method) in enumerate(venue.options.methods.items()):
        yield name, partial(compete, venue, name, method, ledger, after_round=replace(telling, place=place, name=name))


def _outcome(
    folder: RunFolder, name: str, entrant: Callable[[], Outcome], ledger: Ledger, *, speakers: Collection[str]
) -> Outcome:
    """What is kept of an earlier process, or else the outcome of running it now.

    Raises:
        ConfigError: what is kept is of other speakers.
    """
    outcome = kept_outcome(folder, name)
    if outcome is None:
        outcome = entrant()
        keep_outcome(folder, name, outcome)
        return outcome
    known = {mark.speaker for mark in outcome.heard.test}
    if known != set(speakers):
        raise ConfigError(
            f"{name} was run with {len(known)} speakers, {len(known & set(speakers))} of whom are among the {len(speakers)} "
            "that are here now: expected the same ones; bring them back, or begin another run with another --out."
        )
    if ledger.terms.seeded:  # replayed here, or the next method would take these charges for its own
        for charge in ledger.charges[slice(*outcome.charges)]:
            ledger.charge(charge.event, round=charge.round)
    return outcome


def _finish(
    venue: Venue, folder: RunFolder, ledger: Ledger, outcomes: Mapping[str, Sequence[Outcome]], *, seconds: float
) -> dict[str, Any]:
    """Compares everything, and writes guarantee and result."""
    options = venue.options
    guarantee = make_statement(ledger.terms, ledger.events)
    folder.write_json(folder.privacy, guarantee.to_json())
    marked = {name: [outcome.heard.test for outcome in repeated] for name, repeated in outcomes.items()}
    result = {
        "task": options.task,
        "run": str(folder.path),
        "test_is": TEST_IS,
        "seeds": list(options.repetitions),
        "speakers": dict(venue.groups),
        "new_speakers": dict(venue.new_groups),
        "new_utterances": options.data.new_utterances,
        "passes": options.federated.passes,
        "methods": {name: _row(venue, ledger, name, repeated) for name, repeated in outcomes.items()},
        "tests": differences(marked, baseline=options.baseline),
        "best_on_development": _best(outcomes, list(options.methods)),
        "epsilon": guarantee.to_json()["epsilon"],
        "unit": guarantee.terms.unit,
        "statement": guarantee.words,
        "seconds": round(seconds, 1),
    }
    folder.write_json(folder.result, {**result, "versions": versions()})
    return result


def _row(venue: Venue, ledger: Ledger, name: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    options, first = venue.options, outcomes[0]
    return {
        "method": options.methods[name].name if name in options.methods else None,
        **rates([outcome.heard.test for outcome in outcomes], members(venue.groups)),
        "by_seed": [_rate(outcome.heard.test) for outcome in outcomes],
        "development_wer": _development(outcomes),
        **asdict(first.cost),
        "cpu_s": math.fsum(outcome.cost.cpu_s for outcome in outcomes) / len(outcomes),
        "epsilon": _epsilon(ledger, first) if _promises(options) else None,
        "new_speakers": _new(venue, outcomes),
    }


def _rate(marks: Sequence[Mark]) -> float:
    return pooled(mark.words for mark in marks).rate


def _promises(options: PersonalisedExperiment) -> bool:
    """Whether there is a guarantee at all, for speakers or for their recordings."""
    return options.privacy.mechanism != "none" or options.recording_privacy is not None


def _new(venue: Venue, outcomes: Sequence[Outcome]) -> dict[str, Any] | None:
    """Error rates of speakers who never trained, and what their models took; None where there are none."""
    if not venue.new_groups:
        return None
    passes = math.fsum(outcome.new_passes for outcome in outcomes) / len(outcomes)
    return {**rates([outcome.new for outcome in outcomes], members(venue.new_groups)), "passes": passes}


def _epsilon(ledger: Ledger, outcome: Outcome) -> float | None:
    """Of one method by itself, run once; None where something of it was released without noise."""
    events, terms = ledger.events[slice(*outcome.charges)], ledger.terms
    value = guaranteed(events, delta=terms.delta, multiplicity=terms.multiplicity).value
    return value if value is not None and math.isfinite(value) else None


def _development(outcomes: Sequence[Outcome]) -> float | None:
    marks = [mark for outcome in outcomes for mark in outcome.heard.development]
    return _rate(marks) if marks else None


def _best(outcomes: Mapping[str, Sequence[Outcome]], methods: Sequence[str]) -> str | None:
    """The method with the lowest error rate on the development utterances: the one to choose, without a look at the test."""
    known = {name: wer for name in methods if (wer := _development(outcomes[name])) is not None}
    return min(known, key=lambda name: known[name], default=None)
