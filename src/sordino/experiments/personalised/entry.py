"""What a method may spend and what it promises, known before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from sordino._check import told_as
from sordino.experiments.personalised.rehearsal import price_of
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated import FederatedMethod
from sordino.federated.methods.base import KEY
from sordino.layout import ParameterLayout
from sordino.privacy import PhasedPlan, Terms, make_round_plan, make_terms

__all__ = ["Entry", "enter", "terms_of"]

_CAVEAT: Final = "debug telemetry wrote every speaker's errors under every method, and the work that each method took"


@dataclass(frozen=True, slots=True)
class Entry:
    """One method's place in the comparison.

    Attributes:
        rounds: as many as its passes pay for.
        plan: the guarantee of its first round.
    """

    rounds: int
    plan: PhasedPlan


def enter(
    options: PersonalisedExperiment,
    name: str,
    method: FederatedMethod,
    *,
    layout: ParameterLayout,
    embedding_size: int,
    terms: Terms,
) -> Entry:
    """Admits a method.

    Args:
        options: the experiment.
        name: as the method is called in it.
        method: the method.
        layout: of the recogniser.
        embedding_size: of its embeddings.
        terms: what the guarantee is about.

    Raises:
        ConfigError: the passes do not pay for one round, or the privacy asked for does not fit the method.
    """
    with told_as(f"methods.{name}", of=KEY):
        price = price_of(method, layout=layout, embedding_size=embedding_size, epochs=options.federated.local.epochs)
        rounds = price.rounds(options.federated.passes, name=name)
        plan = make_round_plan(
            options.privacy,
            phases=method.phases(layout, embedding_size=embedding_size),
            layout=layout,
            cohort=options.federated.cohort,
            rounds=rounds,
            terms=terms,
        )
    return Entry(rounds, plan)


def terms_of(options: PersonalisedExperiment, *, population: int) -> Terms:
    """What the ledger's guarantee is about. It holds what all methods released; a budget is of each by itself.

    Args:
        options: the experiment.
        population: how many speakers take part.
    """
    terms = make_terms(
        options.privacy,
        population=population,
        clients_per_speaker=1,
        seeded=options.simulation.seeded,
        caveats=() if options.privacy.mechanism == "none" else (_CAVEAT,),
    )
    once = len(options.methods) * len(options.repetitions) == 1
    return terms if once else replace(terms, budget=None)
