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
from sordino.evaluation.attacks import Canaries, Foresight, all_guesses, foresee, judge, require_countable
from sordino.experiments.assembly import Assembly, assemble
from sordino.experiments.canary_clients import WithCanaries, kinds_of
from sordino.experiments.canary_run import expectation, run_with_canaries
from sordino.experiments.measuring import versions
from sordino.experiments.options import FederatedExperiment
from sordino.experiments.sharing import Shared
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
    """

    canaries: int = 2000
    clients: int = 4

    def __post_init__(self) -> None:
        at_least("--canaries", self.canaries, 16)
        at_least("--clients", self.clients, 0)


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
    foreseen = _foresee(plan, terms, backend, rounds=options.federated.rounds, seeds=seeds.at("rehearsals"))
    for sentence in _cannot_see(foreseen, size):
        note(sentence)
    replace_file(path / "experiment.toml", to_toml(options).encode())
    with Ledger(RunFolder(path).ledger, terms=terms) as ledger:
        seen = run_with_canaries(
            ServerState(0, parts.model.flat.snapshot()),
            plan,
            rounds=options.federated.rounds,
            method=options.federated.method,
            backend=backend,
            ledger=ledger,
            noise=parts.noise,
            seeds=parts.seeds.at("training"),
        )
        statement = make_statement(terms, ledger.events)
    found = judge(seen, backend.included, delta=terms.delta, confidence=_CONFIDENCE)
    claimed = _claimed(statement)
    result = {
        "audit": str(path),
        "simulation": _SIMULATION,
        "statement": statement.words,
        "epsilon": {
            "claimed": claimed,
            "lower_bound": found.lower_bound,
            "delta": terms.delta,
            "confidence": _CONFIDENCE,
            "unit": "client",
            "refuted": claimed is not None and found.lower_bound > claimed,
        },
        "attacks": {"canaries": {"asks": _ASKS, **all_guesses(seen, backend.included).to_json()}},
        "evidence": {key: value for key, value in asdict(found).items() if key != "lower_bound"},
        "power": asdict(foreseen),
        "cannot_see": _cannot_see(foreseen, size),
        "size": {**asdict(size), "clients": len(backend.ids), "rounds": seen.observed.shape[1]},
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


def _foresee(plan: Plan, terms: Terms, backend: WithCanaries, *, rounds: int, seeds: Seeds) -> Foresight:
    claimed = _claimed(make_statement(terms, [plan.event()] * rounds))
    expected = expectation(plan, backend, rounds=rounds)
    return foresee(expected, claimed=claimed, delta=terms.delta, confidence=_CONFIDENCE, seeds=seeds)


def _claimed(statement: Statement) -> float | None:
    """The least proven epsilon for one client, which is what a canary is."""
    figures: Mapping[str, Any] = statement.by_unit.get("client") or statement.epsilon
    return min((figures[name] for name in ("pld", "rdp") if figures[name] is not None), default=None)


def _cannot_see(foreseen: Foresight, size: AuditSize) -> Sequence[str]:
    """Which faults an audit of this size cannot see, in words."""
    sentences = [
        f"With {size.canaries} canaries the lower bound would be about {foreseen.highest:.2f} if everything leaked: "
        "r right guesses prove about log(r / 3), less a correction for trying several numbers of guesses."
    ]
    if foreseen.fewest_clients is None:
        sentences.append("That is no more than the claim, so this audit cannot refute it; plant more canaries.")
    elif foreseen.noise_factor is None:
        sentences.append("Noise that is too small shows only where it is less than 0.02 of what is claimed, if at all.")
    else:
        sentences.append(
            f"Noise that is too small shows, in four of five rehearsals, from {foreseen.noise_factor:g} of what is claimed "
            "downwards; so do updates larger than their bound by the inverse factor."
        )
    if foreseen.fewest_clients is not None:
        sentences.append(f"A fault that touches fewer than {foreseen.fewest_clients} clients cannot be told from luck.")
    sentences.append(
        "It looks at released sums only: not at files, logs and messages on the way, not at noise shared by two parts of "
        "one round, and not at faults that only real training brings about."
    )
    return sentences
