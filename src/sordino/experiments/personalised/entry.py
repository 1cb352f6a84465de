"""What a method may spend and what it promises, known before anything is trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from sordino._check import told_as
from sordino.errors import ConfigError
from sordino.experiments.personalised.rehearsal import price_of
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated import FederatedMethod
from sordino.federated.methods.base import KEY
from sordino.layout import ParameterLayout
from sordino.privacy import Ledger, Phase, PhasedPlan, Terms, make_round_plan, make_terms

__all__ = ["Entry", "enter", "paying_for_rounds", "terms_of"]

_CAVEAT: Final = "debug telemetry wrote every speaker's errors under every method, and the work that each method took"


@dataclass(frozen=True, slots=True)
class Entry:
    """One method's place in the comparison.

    Attributes:
        rounds: as many as its passes pay for.
        plan: the guarantee of its first round.
        steps: of local training that a client takes who is drawn in every round, where recordings are protected.
        noise_multiplier: of each of these steps.
    """

    rounds: int
    plan: PhasedPlan
    steps: int = 0
    noise_multiplier: float = 0.0


def enter(
    options: PersonalisedExperiment,
    name: str,
    method: FederatedMethod,
    *,
    layout: ParameterLayout,
    embedding_size: int,
    population: int,
) -> Entry:
    """Admits a method.

    Args:
        options: the experiment.
        name: as the method is called in it.
        method: the method.
        layout: of the recogniser.
        embedding_size: of its embeddings.
        population: how many speakers take part.

    Raises:
        ConfigError: the passes do not pay for one round, or the privacy asked for does not fit the method.
    """
    terms = _rounds_terms(options, population=population)
    with told_as(f"methods.{name}", of=KEY):
        price = price_of(method, layout=layout, embedding_size=embedding_size, epochs=options.federated.local.epochs)
        rounds = price.rounds(options.federated.passes, name=name)
        phases = method.phases(layout, embedding_size=embedding_size)
        plan = make_round_plan(
            options.privacy, phases=phases, layout=layout, cohort=options.federated.cohort, rounds=rounds, terms=terms
        )
    if options.recording_privacy is None:
        return Entry(rounds, plan)
    _refuse_questions(phases, name)
    passes = rounds * price.round + price.use
    steps = passes * options.recording_privacy.steps_a_pass
    return Entry(rounds, plan, steps, options.recording_privacy.multiplier(steps=steps))


def _refuse_questions(phases: Sequence[Phase], name: str) -> None:
    """Raises ConfigError where clients are asked for what their private training does not make."""
    for phase in phases:
        if phase.noised_by_clients:
            raise ConfigError(
                f"methods.{name} asks each client for its {phase.name} in a phase of its own, which recording_privacy does "
                "not cover, since it is in the steps of training alone: expected a method that reads nothing but updates; "
                'choose "parameter-similarity" with weights = "similarity" or "uniform", or unset recording_privacy.'
            )


def terms_of(
    options: PersonalisedExperiment, *, population: int, recordings: int, caveats: Sequence[str] = ()
) -> Terms:
    """What the ledger's guarantee is about. It holds what all methods released; a budget is of each by itself.

    Args:
        options: the experiment.
        population: how many speakers take part.
        recordings: that all of them train on.
        caveats: what else the guarantee does not cover, in words.

    Raises:
        ConfigError: a delta that does not fit.
    """
    if options.recording_privacy is None:
        terms = _rounds_terms(options, population=population)
    else:
        terms = options.recording_privacy.terms(
            recordings=recordings,
            seeded=options.simulation.seeded,
            caveats=(_CAVEAT,),
        )
    terms = replace(terms, caveats=(*terms.caveats, *caveats))
    once = len(options.methods) * len(options.repetitions) == 1
    return terms if once else replace(terms, budget=None)


@contextmanager
def paying_for_rounds(options: PersonalisedExperiment, ledger: Ledger, *, population: int) -> Iterator[Ledger]:
    """Where rounds are charged: in the run's ledger, unless that is about recordings.

    Then rounds release nothing but what is made of steps, which are charged themselves, and the book that says of the
    rounds that they promise a speaker nothing is thrown away.
    """
    if options.recording_privacy is None:
        yield ledger
        return
    terms = _rounds_terms(options, population=population)
    with TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.jsonl", terms=terms) as thrown_away:
        yield thrown_away


def _rounds_terms(options: PersonalisedExperiment, *, population: int) -> Terms:
    """What is promised to a whole speaker.

    Args:
        options: the experiment.
        population: how many speakers take part.
    """
    return make_terms(
        options.privacy,
        population=population,
        clients_per_speaker=1,
        seeded=options.simulation.seeded,
        caveats=() if options.privacy.mechanism == "none" else (_CAVEAT,),
    )
