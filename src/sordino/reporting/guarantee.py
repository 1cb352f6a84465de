"""A run's guarantee for readers who are no experts: what an epsilon allows an attacker, and every parameter explained.

The claim itself comes from `sordino.privacy` as it is; nothing here words it anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sordino.privacy import (
    Event,
    FixedSizeGaussian,
    GaussianRelease,
    MetricRelease,
    PlainRelease,
    PoissonGaussian,
    Terms,
)
from sordino.privacy.accounting import advantage
from sordino.privacy.events import GaussianEvent
from sordino.privacy.statement import MEANINGFUL, Statement
from sordino.reporting.runs import Run

__all__ = ["Guarantee", "Parameter", "best_guess", "guarantee_of"]

_OWNERS: Final = ("speaker", "client", "person")
_FOR_COMPARISON: Final = (0.1, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that the guarantee depends on: its name, its value and what it means."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What a page says of one run.

    Attributes:
        verdict: in a few words, for the head of the page.
        sound: whether epsilon is low enough for anything to be called private.
        epsilon: the least proven one, rounded up to two decimals; None without one.
        unit: whom it protects.
        delta: probability with which the bound may fail.
        words: the statement of `sordino.privacy`.
        certainty: how sure an attacker who starts at 50:50 may become, by epsilon and delta alone; None without epsilon.
        average: how often such an attacker is right on average over all outcomes, by the whole accounting; None where that
            has no figure, and above `MEANINGFUL`: a low average only says then that few are drawn, not that they are safe.
        secret: the one thing that the attacker of the page does not know.
        weakest: for whom it holds too.
        certainties: the same as ``certainty`` for some epsilons and for this run's, rising.
        by_unit: for each unit the figures of both accountants, or the reasons why there are none.
        parameters: everything that went into it.
        caveats: releases that no epsilon covers.
    """

    verdict: str
    sound: bool
    epsilon: float | None
    unit: str
    delta: float
    words: str
    certainty: float | None
    average: float | None
    secret: str
    weakest: str
    certainties: tuple[tuple[float, float], ...]
    by_unit: tuple[tuple[str, str, str], ...]
    parameters: tuple[Parameter, ...]
    caveats: tuple[str, ...]


def best_guess(epsilon: float, delta: float) -> float:
    """How often an attacker who starts at 50:50 can be right about a person at most.

    The attacker knows everything but one thing, e.g. whether this person took part, sees all that was released, and
    guesses. Over two hypotheses that are (epsilon, delta)-indistinguishable the total variation distance is at most
    ``(e^epsilon - 1 + 2 delta) / (e^epsilon + 1)``, and the best test is right half of one plus that often::

        (e^epsilon + delta) / (e^epsilon + 1)

    Without delta this is also how sure the attacker can be after the outcome that gives most away.

    Source: Kairouz, Oh and Viswanath 2015, "The composition theorem for differential privacy".
    """
    shrunk = math.exp(-epsilon)
    return min((1 + delta * shrunk) / (1 + shrunk), 1.0)


def guarantee_of(run: Run) -> Guarantee | None:
    """What to say of a run; None if nothing has been promised or charged yet."""
    statement = run.statement
    if statement is None:
        return None
    unit, delta = statement.terms.unit, statement.terms.delta
    epsilon = None if run.epsilon is None else math.ceil(run.epsilon * 100) / 100
    sound = epsilon is not None and epsilon <= MEANINGFUL
    return Guarantee(
        verdict=_verdict(statement, epsilon),
        sound=sound and not statement.terms.seeded,
        epsilon=epsilon,
        unit=unit,
        delta=delta,
        words=statement.words,
        certainty=None if epsilon is None else best_guess(epsilon, delta),
        average=_average(statement) if sound else None,
        secret=_secret(statement),
        weakest=f"{unit} whose voice gives" if unit in ("speaker", "client") else f"{unit} that gives",
        certainties=() if epsilon is None else _certainties(epsilon, delta),
        by_unit=tuple(
            (name, _figure(figures, "pld"), _figure(figures, "rdp")) for name, figures in statement.by_unit.items()
        ),
        parameters=tuple(_parameters(run, statement)),
        caveats=statement.terms.caveats,
    )


def _secret(statement: Statement) -> str:
    """What is compared, as a question."""
    unit, adjacency = statement.terms.unit, next((event.adjacency for event in statement.events), "add-or-remove-one")
    data = f"a certain {unit}'s recordings" if unit in _OWNERS else f"a certain {unit}"
    if adjacency == "add-or-remove-one":
        return f"whether {data} took part"
    if adjacency == "replace-one":
        return f"whether {data} took part, or another's in their place"
    return f"which of two it was ({adjacency})"


def _average(statement: Statement) -> float | None:
    told_apart = advantage(statement.events, multiplicity=statement.terms.multiplicity)
    return None if told_apart is None else (1 + told_apart) / 2


def _certainties(epsilon: float, delta: float) -> tuple[tuple[float, float], ...]:
    others = (value for value in _FOR_COMPARISON if abs(value - epsilon) > 0.1 * epsilon)
    return tuple((value, best_guess(value, delta)) for value in sorted([*others, epsilon]))


def _verdict(statement: Statement, epsilon: float | None) -> str:
    if epsilon is None:
        return "No privacy guarantee"
    if epsilon > MEANINGFUL:
        return "A guarantee in name only"
    return "Simulated: the noise can be repeated" if statement.terms.seeded else "Differential privacy"


def _figure(figures: Mapping[str, Any], accountant: str) -> str:
    value = figures[accountant]
    return f"{value:.4g}" if value is not None else f"none: {figures.get(f'{accountant}_reason', 'not given')}"


def _parameters(run: Run, statement: Statement) -> list[Parameter]:
    terms, of_speaker = statement.terms, statement.terms.clients_per_speaker
    rows = [
        Parameter("Protected unit", terms.unit, _protected(terms)),
        Parameter(
            "Population K",
            f"{terms.population:,} {_counted(terms)}",
            f"The declared number of {_counted(terms)}; public.",
        ),
    ]
    if terms.unit in ("speaker", "client"):
        meaning = "The most clients that one speaker owns; they are charged together."
        rows.append(Parameter("Clients a speaker", str(of_speaker), meaning))
    for event, times in statement.releases:
        rows += _release(Event.from_json(event), times, unit=terms.unit)
    rows += [
        Parameter("Delta", f"{terms.delta:g}", "Probability with which the bound may fail."),
        Parameter(
            "Budget",
            "none" if terms.budget is None else f"epsilon {terms.budget:,.10g}",
            "No limit was set." if terms.budget is None else "No round is run that would exceed it.",
        ),
        Parameter(
            "Randomness",
            "from the seed" if terms.seeded else "fresh, cryptographic",
            "Whoever knows the seed can take the noise away again: a simulation."
            if terms.seeded
            else "Noise and cohorts are drawn by a generator that the operating system keys; nobody can repeat them.",
        ),
    ]
    clip_norm, allocation = run.option("privacy", "clip_norm"), run.option("privacy", "allocation", "method")
    if clip_norm is not None and run.epsilon is not None:
        meaning = "The most that one client's update may weigh."
        if run.option("privacy", "tracking") is not None:
            meaning += " The first round's; it then follows released clip rates, and the noise with it."
        rows.insert(3, Parameter("Clip norm C", f"{clip_norm:g}", meaning))
        rows.insert(
            4,
            Parameter(
                "Allocation",
                str(allocation),
                "How C is divided over the model's parts; it changes the accuracy, never the guarantee.",
            ),
        )
    return rows


def _counted(terms: Terms) -> str:
    counted = {
        "person": "people",
        "sequence": "texts",
        "token": "texts",
        "recording": "recordings",
        "frame": "recordings",
    }
    return counted.get(terms.unit, "clients")


def _protected(terms: Terms) -> str:
    if terms.unit == "speaker":
        return "Whose whole contribution is hidden, not only single recordings."
    if terms.unit == "client" and terms.clients_per_speaker > 1:
        return f"One client's contribution is hidden; a speaker may own {terms.clients_per_speaker} of them."
    if terms.unit == "token":
        return "One token of a text is hidden, whatever the others are."
    if terms.unit == "frame":
        return "One frame's embedding is hidden, whatever the others are; what is heard in it reaches into others, too."
    return f"One {'text' if terms.unit == 'sequence' else terms.unit}'s whole contribution is hidden."


_ADJACENCY: Final = {
    "add-or-remove-one": "The bound compares the run with and without one unit.",
    "replace-one": "The bound compares the run with one unit against the same with another in its place.",
    "none": "Nothing is compared.",
}


_TAKING_PART: Final = {
    "client": (
        "Clients' clipped updates are added up, then noise is.",
        "Each client takes part in a round with this probability.",
    ),
    "recording": (
        "The clipped gradients of a client's recordings are added up, then noise is, at the client and in every step.",
        "Each of a client's recordings takes part in a step with this probability.",
    ),
}
"""How a sampled Gaussian came about, by the protected unit."""


def _release(event: Event, times: int, *, unit: str) -> list[Parameter]:
    """What was released, in words; an event that this page does not know is shown by its fields."""
    adjacency = Parameter("Adjacency", event.adjacency.replace("-", " "), _ADJACENCY.get(event.adjacency, ""))
    if isinstance(event, PoissonGaussian):
        summed, drawn = _TAKING_PART.get(unit, _TAKING_PART["client"])
        return [
            Parameter("Mechanism", "Gaussian noise on the sum", summed),
            _multiplier(event),
            Parameter("Sampling", f"Poisson, q = {event.rate:g}", drawn),
            adjacency,
            _rounds(times),
        ]
    if isinstance(event, FixedSizeGaussian):
        return [
            Parameter(
                "Mechanism", "Gaussian noise on the sum", "Clients' clipped updates are added up, then noise is."
            ),
            _multiplier(event),
            Parameter(
                "Sampling",
                f"{event.size:,} of {event.population:,}",
                "Exactly so many clients take part in a round, drawn without replacement.",
            ),
            adjacency,
            _rounds(times),
        ]
    if isinstance(event, PlainRelease):
        return [
            Parameter("Released plainly", event.what, "Nothing bounds what this reveals about anybody."),
            _rounds(times),
        ]
    if isinstance(event, GaussianRelease):
        return [
            Parameter("Mechanism", "Gaussian noise", f"On {event.what}."),
            _multiplier(event),
            adjacency,
            _rounds(times),
        ]
    if isinstance(event, MetricRelease):
        bound = f"At most e^(eta D) times likelier at {event.metric} distance D: {event.what}."
        return [Parameter("Mechanism", f"noise with eta = {event.eta:g}", bound), adjacency, _rounds(times)]
    fields = {key: value for key, value in event.to_json().items() if key != "kind"}
    listed = ", ".join(f"{key} = {value}" for key, value in fields.items())
    return [Parameter("Mechanism", event.kind, listed), adjacency, _rounds(times)]


def _multiplier(event: GaussianEvent) -> Parameter:
    value = f"{event.noise_multiplier:.4g}"
    if isinstance(event, GaussianRelease):
        return Parameter("Noise multiplier z", value, "Its standard deviation over the most that is to be hidden.")
    return Parameter(
        "Noise multiplier z",
        value,
        "Noise on all that a round releases, relative to the most that one client can move it: its standard deviation "
        "over C where it is the same everywhere.",
    )


def _rounds(times: int) -> Parameter:
    return Parameter(
        "Charged", f"{times} {'time' if times == 1 else 'times'}", "How often this was released and paid for."
    )
