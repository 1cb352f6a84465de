"""The guarantee in numbers and in plain words, computed from a ledger alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sordino.privacy.accounting import epsilon
from sordino.privacy.events import Event, FixedSizeGaussian, GaussianRelease, MetricRelease, PoissonGaussian
from sordino.privacy.joint import alike
from sordino.privacy.ledger import Terms, read_ledger

__all__ = ["CHANNEL_CAVEAT", "Statement", "make_statement", "statement_of_run"]

MEANINGFUL = 20.0
"""Above this epsilon nothing is called private."""

_WHOSE: Final = {
    "speaker": "one speaker's recordings",
    "client": "one client's recordings",
    "person": "one person's data",
    "sequence": "one sequence",
    "token": "one token",
    "recording": "one recording",
    "frame": "one frame's embedding",
}
_CHANGES: Final = {"add-or-remove-one": "added or left out", "replace-one": "replaced by another's"}

CHANNEL_CAVEAT = (
    "z_eff is the noise multiplier against somebody who sees one component alone, if everything else this person sent were "
    "public; over rounds the components feed each other through the model, so only the joint epsilon is a guarantee."
)
"""Stands wherever an effective multiplier is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is guaranteed to whom.

    Attributes:
        terms: unit, population, delta, caveats.
        rounds: number of charges.
        by_unit: for each unit and accountant, epsilon or None with the reason beside it.
        releases: each distinct event with how often it was charged.
        words: the guarantee in plain sentences.
    """

    terms: Terms
    rounds: int
    by_unit: dict[str, dict[str, float | str | None]]
    releases: tuple[tuple[dict[str, Any], int], ...]
    words: str

    @property
    def epsilon(self) -> dict[str, float | str | None]:
        """The figures for the protected unit."""
        return self.by_unit[self.terms.unit]

    @property
    def events(self) -> list[Event]:
        """What was charged, as often as it was."""
        return [Event.from_json(event) for event, times in self.releases for _ in range(times)]

    @staticmethod
    def from_json(table: Mapping[str, Any]) -> Statement:
        """The statement that `to_json` wrote; raises KeyError, TypeError or PrivacyError on anything else."""
        terms = Terms(
            unit=table["unit"],
            population=table["population"],
            clients_per_speaker=table["clients_per_speaker"],
            delta=table["epsilon"]["delta"],
            budget=table["budget"],
            seeded=table["seeded"],
            caveats=tuple(table["caveats"]),
        )
        return Statement(
            terms=terms,
            rounds=table["rounds"],
            by_unit=table["epsilon"]["by_unit"],
            releases=tuple((release["event"], release["times"]) for release in table["releases"]),
            words=table["words"],
        )

    def to_json(self) -> dict[str, Any]:
        """The content of ``privacy.json``; an infinite epsilon is null."""
        terms = self.terms
        return {
            "unit": terms.unit,
            "epsilon": {**self.epsilon, "delta": terms.delta, "by_unit": self.by_unit},
            "population": terms.population,
            "clients_per_speaker": terms.clients_per_speaker,
            "budget": terms.budget,
            "seeded": terms.seeded,
            "caveats": list(terms.caveats),
            "rounds": self.rounds,
            "releases": [{"event": event, "times": times} for event, times in self.releases],
            "words": self.words,
        }


def statement_of_run(run: Path) -> Statement:
    """The statement recomputed from ``ledger.jsonl`` in a run's folder, or from any ledger file."""
    terms, charges = read_ledger(run / "ledger.jsonl" if run.is_dir() else run)
    return make_statement(terms, [charge.event for charge in charges])


def make_statement(terms: Terms, events: Sequence[Event]) -> Statement:
    """The statement for these events under these terms."""
    units = {"client": 1, "speaker": terms.clients_per_speaker}
    if terms.clients_per_speaker == 1:
        units = {terms.unit: 1}
    by_unit = {unit: _figures(events, terms.delta, multiplicity) for unit, multiplicity in units.items()}
    counts = Counter(events)
    return Statement(
        terms=terms,
        rounds=len(events),
        by_unit=by_unit,
        releases=tuple((event.to_json(), times) for event, times in counts.items()),
        words=_words(terms, events, by_unit[terms.unit]),
    )


def _figures(events: Sequence[Event], delta: float, multiplicity: int) -> dict[str, float | str | None]:
    result: dict[str, float | str | None] = {}
    for name in ("pld", "rdp"):
        figure = epsilon(events, delta=delta, accountant=name, multiplicity=multiplicity)
        unbounded = figure.value is not None and math.isinf(figure.value)
        result[name] = None if unbounded else figure.value
        if figure.value is None or unbounded:
            result[f"{name}_reason"] = figure.reason or "something was released without noise"
    return result


def _words(terms: Terms, events: Sequence[Event], figures: dict[str, float | str | None]) -> str:
    proven = [value for value in (figures["pld"], figures["rdp"]) if isinstance(value, float)]
    if not events:
        return _join("Nothing was released that depends on what is protected: epsilon is 0.", terms)
    metric = [event for event in events if isinstance(event, MetricRelease)]
    if metric and len(metric) == len(events):
        return _join(_metric_words(metric), terms)
    if not proven:
        reasons = dict.fromkeys(str(figures[f"{name}_reason"]) for name in ("pld", "rdp"))
        return _join(f"No privacy guarantee: {'; '.join(reasons)}.", terms)
    value = math.ceil(min(proven) * 100) / 100  # rounded up: a claim must not be below what was proven
    change = alike(events)[0].adjacency
    neighbours = f"{_WHOSE[terms.unit]} {_CHANGES[change]}" if change in _CHANGES else change
    rounds = "steps" if terms.unit == "recording" else "rounds"
    what = "releases" if any(isinstance(event, GaussianRelease) for event in events) else rounds
    what = f"{len(events)} {what}" if len(events) > 1 else what.removesuffix("s")
    odds = f"e^{value:.2f} = {_factor(math.exp(value))}" if value < 700 else f"e^{math.ceil(value)}"
    bound = (
        f"({value:.2f}, {terms.delta:g})-differential privacy for each {terms.unit}: with {neighbours}, no outcome of the "
        f"{what} becomes more than {odds} times likelier, except with probability {terms.delta:g}."
    )
    released = dict.fromkeys(event.what for event in events if isinstance(event, GaussianRelease) and event.what)
    if released and any(isinstance(event, PoissonGaussian | FixedSizeGaussian) for event in events):
        released["sums of what clients sent, noised by the server"] = None
    if released:
        bound += f" That is of all that was released, seen together: {'; '.join(released)}."
    if value > MEANINGFUL:
        return _join(
            f"A guarantee in name only. {bound} A factor this large protects nobody: do not call this run private.",
            terms,
        )
    return _join(bound, terms)


def _factor(odds: float) -> str:
    """The odds as people write them, rounded up as epsilon is."""
    if odds < 100:
        return f"{math.ceil(odds * 100) / 100:g}"
    return f"{math.ceil(odds):,}" if odds < 1e9 else f"{odds:.3g}"


def _metric_words(events: Sequence[MetricRelease]) -> str:
    bounds = "; ".join(
        f"{event.what}: at {event.metric} distance D, at most e^({event.eta:g} D) times likelier for one input than for the "
        f"other, {times} {'time' if times == 1 else 'times'}"
        for event, times in Counter(events).items()
    )
    return (
        f"Metric privacy, which is not differential privacy and has no epsilon: what is near is hidden, what is far is not. "
        f"{bounds[:1].upper()}{bounds[1:]}. Exponents of releases about the same thing add up."
    )


def _join(first: str, terms: Terms) -> str:
    sentences = [first]
    if terms.seeded:
        sentences.append(
            "This was a seeded simulation: whoever knows the seed can remove the noise, so the figures say what the same "
            "run would guarantee with fresh randomness."
        )
    sentences += [f"Not covered: {caveat}." for caveat in terms.caveats]
    return " ".join(sentences)
