"""From what an auditor sees of the canaries to guesses, and from guesses to a lower bound on epsilon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from sordino.evaluation.attacks.canaries import Sighting
from sordino.evaluation.attacks.one_run import Success, enough_guesses, epsilon_lower_bound, p_value
from sordino.seeds import Seeds

__all__ = ["Finding", "Foresight", "all_guesses", "foresee", "judge"]

_SIZES: Final = 6
"""Numbers of guesses that are tried: all, a half, a quarter, ..."""

_FEWEST: Final = 8
_FACTORS: Final = (0.7, 0.5, 0.35, 0.25, 0.1, 0.05, 0.02)
_REHEARSALS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The best of all attempts to refute small epsilons.

    Attributes:
        lower_bound: epsilon is at least this, at the confidence asked for and corrected for all attempts.
        kind: which canaries gave it; ``all`` for all together.
        score: what they were ordered by.
        canaries: how many of that kind there were.
        guesses: how many of them were guessed.
        correct: how many guesses were right.
        attempts: how many attempts were made.
    """

    lower_bound: float
    kind: str
    score: str
    canaries: int
    guesses: int
    correct: int
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Foresight:
    """What an audit of this size can see, computed before it runs.

    Attributes:
        highest: the bound if everything leaked: by guesses of those alone who are seen to take part, or of everybody, which
            are wrong for who is in and never drawn; whichever gives more.
        fewest_clients: how many clients a fault must touch for the claim to be refuted; None if none suffice.
        noise_factor: the largest of the tried factors on the noise that is noticed in at least four of five rehearsals; None
            if not even the smallest is.
    """

    highest: float
    fewest_clients: int | None
    noise_factor: float | None


def log_odds(seen: Sighting) -> npt.NDArray[np.float64]:
    """Logarithm of the odds that a canary is in, if everything is as claimed.

    ``sum_t log(1 - q + q exp((2 x_t - 1) / (2 s_t^2)))`` for inner products x with noise and interference of variance s^2.

    Shape:
        result: float64 [num]
    """
    variance = np.maximum(seen.noise**2 + seen.interference**2, 1e-12)
    with np.errstate(divide="ignore"):
        absent, present = np.log1p(-seen.rate), np.log(seen.rate)
    odds = np.logaddexp(absent, present + (2 * seen.observed - 1) / (2 * variance))
    return np.asarray(odds.sum(axis=1))


def changes(seen: Sighting) -> npt.NDArray[np.float64]:
    """Sum of squared differences of successive rounds: large for a canary that comes and goes, if noise repeats itself."""
    return np.asarray((np.diff(seen.observed, axis=1) ** 2).sum(axis=1))


def _scores(seen: Sighting) -> Mapping[str, npt.NDArray[np.float64]]:
    """Positive for "in", negative for "out", further from 0 the surer.

    ``likelihood`` guesses both ways; the others only "in", since whoever is never drawn looks like whoever is not there.
    """
    odds, moved = log_odds(seen), changes(seen)
    return {"likelihood": odds, "likelihood, in": odds - odds.min(), "changes, in": moved - moved.min()}


def _attempts(seen: Sighting, included: npt.NDArray[np.bool_]) -> Iterator[Finding]:
    """Every kind, score and number of guesses, with what came out; bounds are not computed yet."""
    kinds = {"all": np.ones_like(included)} | {name: seen.kind == k for k, name in enumerate(seen.kinds)}
    for kind, members in kinds.items() if len(seen.kinds) > 1 else [*kinds.items()][:1]:
        part = replace(seen, observed=seen.observed[members], noise=seen.noise[members],
                       interference=seen.interference[members])  # fmt: skip
        for score, values in _scores(part).items():
            surest = np.argsort(-np.abs(values), kind="stable")
            right = np.cumsum((values >= 0)[surest] == included[members][surest])
            sizes = {len(values) >> step for step in range(_SIZES)}
            for size in sorted(size for size in sizes if size >= min(_FEWEST, len(values))):
                yield Finding(
                    lower_bound=0.0, kind=kind, score=score, canaries=len(values), guesses=size,
                    correct=int(right[size - 1]), attempts=0,
                )  # fmt: skip


def judge(seen: Sighting, included: npt.NDArray[np.bool_], *, delta: float, confidence: float = 0.95) -> Finding:
    """The highest lower bound over all attempts, each at ``(1 - confidence)`` divided by their number.

    Formal guarantee: if the run was (epsilon, delta)-private for adding or removing a client, the bound exceeds epsilon with
    probability at most ``1 - confidence``.

    Args:
        seen: what the auditor saw.
        included: the coins, bool [num]; read only to count right guesses.
        delta: of the claim.
        confidence: of the bound.
    """
    attempts = list(_attempts(seen, included))
    level = (1 - confidence) / len(attempts)
    found = [
        replace(attempt, attempts=len(attempts), lower_bound=epsilon_lower_bound(
            canaries=attempt.canaries, guesses=attempt.guesses, correct=attempt.correct, delta=delta, level=level,
        ))
        for attempt in attempts
    ]  # fmt: skip
    return max(found, key=lambda finding: finding.lower_bound)


def all_guesses(seen: Sighting, included: npt.NDArray[np.bool_]) -> Success:
    """How often a guess without abstaining is right, by the likelihood under the claim."""
    guessed = log_odds(seen) >= 0
    return Success(right=int((guessed == included).sum()), tried=len(included), chance=0.5)


def foresee(
    expected: Sighting, *, claimed: float | None, delta: float, confidence: float = 0.95, seeds: Seeds
) -> Foresight:
    """What an audit with these canaries would see of faults of known size.

    Args:
        expected: noise and interference to be expected; what was observed is not read.
        claimed: epsilon; None where nothing is claimed.
        delta: of the claim.
        confidence: of the bound.
        seeds: of the rehearsals.
    """
    rehearsed, included = _rehearse(expected, factor=1.0, seeds=seeds)
    attempts = list(_attempts(rehearsed, included))
    num, level = len(included), (1 - confidence) / len(attempts)
    never_drawn = num / 2 * (1 - expected.rate) ** expected.observed.shape[1]
    seen = max(int(num / 2 - never_drawn), 1)
    highest, most = max(
        (epsilon_lower_bound(canaries=num, guesses=guesses, correct=correct, delta=delta, level=level), guesses)
        for guesses, correct in ((seen, seen), (num, num - round(never_drawn)))
    )
    if not claimed or highest <= claimed:
        return Foresight(highest=highest, fewest_clients=None, noise_factor=None)
    enough = enough_guesses(claimed, canaries=num, most=most, delta=delta, level=level)
    noticed = (
        factor for factor in _FACTORS if _noticed(expected, factor, claimed, delta=delta, level=level, seeds=seeds)
    )
    return Foresight(highest=highest, fewest_clients=enough, noise_factor=next(noticed, None))


def _noticed(expected: Sighting, factor: float, claimed: float, *, delta: float, level: float, seeds: Seeds) -> bool:
    """Whether noise scaled by a factor refutes the claim in four of five rehearsals."""
    refuted = 0
    for number in range(_REHEARSALS):
        rehearsed, included = _rehearse(expected, factor=factor, seeds=seeds.at(str(factor), number))
        refuted += any(
            p_value(canaries=a.canaries, guesses=a.guesses, correct=a.correct, epsilon=claimed, delta=delta) < level
            for a in _attempts(rehearsed, included)
        )
    return refuted >= _REHEARSALS - 1


def _rehearse(expected: Sighting, *, factor: float, seeds: Seeds) -> tuple[Sighting, npt.NDArray[np.bool_]]:
    """Made-up inner products of canaries, and their coins."""
    generator, shape = seeds.generator(), expected.noise.shape
    included = np.asarray(generator.random(shape[0]) < 0.5)
    present = included[:, None] & (generator.random(shape) < expected.rate)
    seen = np.isfinite(expected.noise)
    spread = np.hypot(factor * np.where(seen, expected.noise, 0.0), expected.interference)
    return replace(expected, observed=np.where(seen, present + spread * generator.normal(size=shape), 0.0)), included
