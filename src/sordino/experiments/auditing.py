"""Attacks an experiment: plants canaries in the real round loop and compares what they prove with what is claimed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from sordino._check import at_least
from sordino.config import to_toml
from sordino.errors import ConfigError
from sordino.evaluation.attacks import (
    Canaries,
    Finding,
    Foresight,
    Sighting,
    all_guesses,
    foresee,
    judge,
    require_countable,
)
from sordino.experiments.assembly import Assembly, assemble
from sordino.experiments.canary_clients import WithCanaries, kinds_of
from sordino.experiments.canary_run import expectation, run_with_canaries
from sordino.experiments.measuring import versions
from sordino.experiments.membership_run import attack_membership
from sordino.experiments.sharing import Shared
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.experiments.update_attacks import attack_updates, gather_updates
from sordino.federated import ServerState
from sordino.privacy import Ledger, Plan, Statement, Terms, make_statement
from sordino.records import RunFolder, replace_file
from sordino.seeds import Seeds

__all__ = ["AuditSize", "audit_experiment"]

_CONFIDENCE: Final = 0.95

_SIMULATION: Final = (
    "This audit is a simulation: canaries stood among the clients, nothing of its model is kept, and what it released of "
    "the ordinary clients is charged to a ledger of its own."
)

_ASKS: Final = "Did this canary take part? Asked of every canary, after seeing all that was released."
_CAVEAT: Final = "canaries, which stood among the clients for an audit; nothing of its model was kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSize:
    """How large an audit is.

    Attributes:
        canaries: m, each put in by a coin of its own.
        clients: ordinary clients that take part besides; all others stay away.
        membership: run the experiment a second time, each person in by a coin, and ask the final model who was.
        shadows: runs that the attacker on membership makes for comparison.
        updates: ask single updates what was said and by whom.
    """

    canaries: int = 2000
    clients: int = 4
    membership: bool = False
    shadows: int = 0
    updates: bool = False

    def __post_init__(self) -> None:
        at_least("--canaries", self.canaries, 16)
        at_least("--clients", self.clients, 0)
        at_least("--shadows", self.shadows, 0)
        if self.shadows == 1 or (self.shadows and not self.membership):
            raise ConfigError(
                f"--shadows = {self.shadows}: expected 0, or at least 2 and --membership, whose attacker runs them."
            )


def audit_experiment(
    options: FederatedExperiment,
    path: Path,
    *,
    size: AuditSize | None = None,
    note: Callable[[str], None] = lambda _: None,
    shared: Shared | None = None,
) -> dict[str, Any]:
    """Runs the experiment's rounds with canaries and writes what they prove to a folder of its own.

    The plan is the experiment's: its noise, its cohorts, its rounds. Only who the clients are is chosen for the audit, which
    a guarantee has to bear, since it holds for any clients.

    Args:
        options: the experiment.
        path: folder for ``audit.json``, the audit's own ledger and the experiment.
        size: how many canaries and ordinary clients.
        note: is told beforehand what an audit of this size cannot see, a sentence at a time.
        shared: what other runs of this process have loaded already.

    Returns:
        The content of ``audit.json``.

    Raises:
        ConfigError: ``path`` is taken, too many canaries for delta, or a fixed-size cohort with no room for them.
        BudgetExhausted: the budget covers no round.
    """
    started, size = time.monotonic(), size or AuditSize()
    RunFolder(path).require_free()
    parts = assemble(options, shared=shared)
    require_countable(size.canaries, delta=parts.terms.delta)
    plan, terms = _room_for_canaries(parts, size)
    seeds = parts.seeds.at("audit") if options.simulation.seeded else Seeds.from_entropy()
    backend = _planted(parts, plan, size, seeds)
    foreseen, hidden = _foresee(plan, terms, backend, rounds=options.federated.rounds, seeds=seeds.at("rehearsals"))
    for sentence in hidden:
        note(sentence)
    replace_file(path / "experiment.toml", to_toml(options).encode())
    seen, statement = _run(parts, plan, terms, backend, path)
    found = judge(seen, backend.included, delta=terms.delta, confidence=_CONFIDENCE)
    attacks = {"canaries": {"asks": _ASKS, **all_guesses(seen, backend.included).to_json()}}
    if size.membership:
        attacks |= attack_membership(parts, path, shadows=size.shadows, seeds=seeds.at("members"))
    if size.updates:
        gathered = gather_updates(parts, seeds=seeds.at("gathered updates"))
        for defence in (None, parts.plan):
            attacks |= attack_updates(gathered, defence, seeds=seeds.at("attacks on updates"))
    result = {
        "audit": str(path),
        "simulation": _SIMULATION,
        "statement": statement.words,
        "epsilon": _epsilon(statement, found),
        "attacks": attacks,
        "evidence": {key: value for key, value in asdict(found).items() if key != "lower_bound"},
        "power": asdict(foreseen),
        "cannot_see": hidden,
        "size": {"canaries": size.canaries, "clients": len(backend.ids), "rounds": seen.observed.shape[1]},
        "seconds": round(time.monotonic() - started, 1),
        "versions": versions(),
    }
    RunFolder(path).write_json(path / "audit.json", result)
    return result


def _room_for_canaries(parts: Assembly, size: AuditSize) -> tuple[Plan, Terms]:
    """The plan with places for all canaries, at the same cost a round.

    Raises:
        ConfigError: more places would change what a round costs.
    """
    ordinary = min(size.clients, len(parts.backend.clients()))
    population = max(parts.terms.population, ordinary + size.canaries)
    plan = replace(parts.plan, population=population)
    if plan.event() != parts.plan.event():
        raise ConfigError(
            f"--canaries = {size.canaries} beside {ordinary} clients: expected at most {parts.terms.population} together, "
            "since the cost of a fixed-size cohort depends on the population; plant fewer, or raise privacy.population."
        )
    return plan, replace(parts.terms, population=population, caveats=(*parts.terms.caveats, _CAVEAT))


def _planted(parts: Assembly, plan: Plan, size: AuditSize, seeds: Seeds) -> WithCanaries:
    kinds = kinds_of(plan.clipper, plan.layout)
    return WithCanaries(
        parts.backend,
        tuple(parts.backend.clients()[: size.clients]),
        Canaries(size.canaries, kinds, plan.layout.size, seeds.at("directions")),
        seeds.at("coins").generator().random(size.canaries) < 0.5,
        plan.layout,
    )


def _foresee(
    plan: Plan, terms: Terms, backend: WithCanaries, *, rounds: int, seeds: Seeds
) -> tuple[Foresight, Sequence[str]]:
    """What the audit can see, and in words what it cannot."""
    claimed = _claimed(make_statement(terms, [plan.event()] * rounds))
    expected = expectation(plan, backend, rounds=rounds)
    foreseen = foresee(expected, claimed=claimed, delta=terms.delta, confidence=_CONFIDENCE, seeds=seeds)
    return foreseen, _cannot_see(foreseen, backend.canaries.num, claimed=claimed)


def _run(parts: Assembly, plan: Plan, terms: Terms, backend: WithCanaries, path: Path) -> tuple[Sighting, Statement]:
    """The experiment's rounds, charged to the audit's own ledger."""
    with Ledger(RunFolder(path).ledger, terms=terms) as ledger:
        seen = run_with_canaries(
            ServerState(0, parts.model.flat.snapshot()),
            plan,
            rounds=parts.options.federated.rounds,
            method=parts.options.federated.method,
            backend=backend,
            ledger=ledger,
            noise=parts.noise,
            seeds=parts.seeds.at("training"),
        )
        return seen, make_statement(terms, ledger.events)


def _epsilon(statement: Statement, found: Finding) -> dict[str, Any]:
    claimed = _claimed(statement)
    return {
        "claimed": claimed,
        "lower_bound": found.lower_bound,
        "delta": statement.terms.delta,
        "confidence": _CONFIDENCE,
        "unit": "client",
        "refuted": claimed is not None and found.lower_bound > claimed,
    }


def _claimed(statement: Statement) -> float | None:
    """The least proven epsilon for one client, which is what a canary is."""
    figures: Mapping[str, Any] = statement.by_unit.get("client") or statement.epsilon
    return min((figures[name] for name in ("pld", "rdp") if figures[name] is not None), default=None)


def _cannot_see(foreseen: Foresight, num: int, *, claimed: float | None) -> Sequence[str]:
    """Which faults an audit with so many canaries cannot see, in words."""
    sentences = [
        f"{num} canaries prove a lower bound of about {foreseen.highest:.2f} if everything leaks: r right guesses prove "
        "about log(r / 3), less a correction for trying several numbers of guesses."
    ]
    if claimed is not None and foreseen.fewest_clients is None:
        sentences.append(
            f"That is no more than the claim of {claimed:.4g}, which this audit cannot refute; plant more canaries."
        )
    elif foreseen.fewest_clients is not None:
        factor = foreseen.noise_factor
        sentences += [
            "Noise that is too small shows only where less than 0.02 of it is left, if at all."
            if factor is None
            else f"Noise that is too small shows, in four of five rehearsals, where at most {factor:g} of it is left; so do "
            f"updates that are at least {1 / factor:.3g} times too large.",
            f"A fault that touches fewer than {foreseen.fewest_clients} clients cannot be told from luck.",
        ]
    sentences.append(
        "It looks at released sums only, as a whole and by component: noise that is missing in a single tensor, or shared "
        "by two parts of one round, can stay hidden, and so do files, logs, messages on the way, and faults that only real "
        "training brings about."
    )
    return sentences
