"""From the ``[privacy]`` table to a plan and the ledger's terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sordino.errors import ConfigError
from sordino.layout import ParameterLayout
from sordino.privacy.calibration import noise_multiplier_for
from sordino.privacy.cohort import CohortSampler
from sordino.privacy.events import Event
from sordino.privacy.ledger import Terms
from sordino.privacy.non_private import NonPrivate
from sordino.privacy.options import PrivacyOptions
from sordino.privacy.phases import PhasedPlan, round_event
from sordino.privacy.plan import Plan, PrivacyPlan
from sordino.privacy.shares import NoiseShares
from sordino.privacy.steps import NoisedBy, Phase, Reads, Step

__all__ = ["make_plan", "make_round_plan", "make_terms"]


def make_terms(
    options: PrivacyOptions,
    *,
    population: int,
    clients_per_speaker: int | None,
    seeded: bool,
    caveats: Sequence[str] = (),
) -> Terms:
    """What the guarantee is about.

    Args:
        options: the ``[privacy]`` table.
        population: K, the number of clients; the table's own figure overrides it.
        clients_per_speaker: the most clients that one speaker owns; None where clients mix speakers.
        seeded: whether cohorts and noise come from the seed.
        caveats: releases outside the guarantee, in words.

    Raises:
        ConfigError: delta too large, or speakers cannot be the unit because clients mix them.
    """
    if clients_per_speaker is None and options.unit == "speaker" and options.mechanism != "none":
        raise ConfigError(
            'privacy.unit = "speaker", but a client holds several speakers, so bounding clients does not bound a speaker; '
            'set privacy.unit = "client", or make each client one speaker\'s (data.partition).'
        )
    population = options.population or population
    private = options.mechanism != "none"
    raw = ('the allocation read the clients\' norms without noise (ema_source = "raw")',)
    counted = ("the population was counted from the data (privacy.population is not set), and the noise depends on it",)
    return Terms(
        unit=options.unit if clients_per_speaker is not None else "client",
        population=population,
        clients_per_speaker=clients_per_speaker or 1,
        delta=options.delta_for(population) if private else options.delta or 1e-5,
        budget=options.epsilon if private else None,
        seeded=seeded,
        caveats=(
            *caveats,
            *(raw if private and options.allocation.reads_raw_norms else ()),
            *(counted if private and options.population is None else ()),
            *(_seen_by_server(options.shares) if private and options.shares else ()),
        ),
    )


def _seen_by_server(shares: NoiseShares) -> tuple[str, ...]:
    part = "all" if shares.fraction == 1 else f"{shares.fraction:.3g} of the standard deviation"
    return (f"what the server itself sees of each of the {shares.parties} parties, which carries {part} of the noise",)


def make_plan(
    options: PrivacyOptions,
    *,
    layout: ParameterLayout,
    cohort: CohortSampler,
    rounds: int,
    terms: Terms,
    watch: bool = False,
) -> Plan:
    """The plan of the first round; without a given noise multiplier, z is the least that keeps T rounds in budget.

    Args:
        options: the ``[privacy]`` table.
        layout: the tensors of an update.
        cohort: how a round's clients are drawn.
        rounds: T.
        terms: what the guarantee is about.
        watch: measure the norm of every group, for debug telemetry.
    """
    if options.noised_by == "clients":
        raise ConfigError(
            'privacy.noised_by = "clients" is for experiments whose rounds have phases: expected "server" here; set it, or '
            'task = "personalised".'
        )
    z = options.noise_multiplier if options.mechanism == "gaussian" else 0.0
    if z is None:
        z = _calibrated(options, lambda z: cohort.event(z, population=terms.population), rounds=rounds, terms=terms)
    return _plan(options, layout, cohort, terms, z=z, watch=watch)


def make_round_plan(
    options: PrivacyOptions,
    *,
    phases: Sequence[Phase],
    layout: ParameterLayout,
    cohort: CohortSampler,
    rounds: int,
    terms: Terms,
    watch: bool = False,
) -> PhasedPlan:
    """The plan of the first round of a method with these phases, all under one ``[privacy]`` table.

    The noise multiplier of the table, or of the budget, is that of the whole round: each of k phases that send something
    has ``z sqrt(k)``, so that together they are ``(k (z sqrt k)**-2)**(-1/2) = z``. Each clips what it sends to the table's
    C, or to one of its own.

    Args:
        options: the ``[privacy]`` table.
        phases: of the method.
        layout: of the model.
        cohort: how a round's clients are drawn.
        rounds: T.
        terms: what the guarantee is about.
        watch: measure the norm of every group, for debug telemetry.

    Raises:
        ConfigError: a phase reads single uploads though the server is to add the noise; or what the plan is to learn
            (tracking, clip rates) is not released in such phases.
    """
    _refuse(options, phases)
    sending = sum(phase.reads is not Reads.NOTHING for phase in phases)

    def of(z: float) -> PhasedPlan:
        each = z * math.sqrt(max(sending, 1))
        steps = (_step(options, phase, cohort, terms, z=each, watch=watch) for phase in phases)
        return PhasedPlan(layout, tuple(steps))

    def event(z: float) -> Event:
        cost = round_event(of(z))
        assert cost is not None  # noqa: S101 - something is sent
        return cost

    z = options.noise_multiplier if options.mechanism == "gaussian" else 0.0
    if z is None:
        z = _calibrated(options, event, rounds=rounds, terms=terms) if sending else 0.0
    return of(z)


def _refuse(options: PrivacyOptions, phases: Sequence[Phase]) -> None:
    if options.mechanism == "none":
        return
    if options.shares is not None:
        raise ConfigError(
            'privacy.shares is for task = "federated", whose rounds have one phase: expected it unset here, or '
            'noised_by = "clients".'
        )
    by_clients = options.noised_by == "clients"
    for phase in phases:
        if phase.reads is Reads.EACH and not (by_clients or phase.noised_by_clients):
            raise ConfigError(
                f"phase {phase.name!r} of the method looks at each client's own upload, which noise that the server adds to "
                "a sum cannot protect: expected noise at the clients, or a method that reads sums or mixtures; set "
                'privacy.noised_by = "clients", or federated.method to "fedper", "ditto" or "embedding-similarity", or '
                'privacy.mechanism = "none" for a run without privacy.'
            )
        learns = (
            options.tracking is not None or options.allocation.reads_clip_rates or options.allocation.reads_raw_norms
        )
        if learns and (by_clients or phase.reads in (Reads.EACH, Reads.MIX)) and phase.clip_norm is None:
            raise ConfigError(
                f"privacy.tracking or allocation {options.allocation.name!r} reads how many clients were clipped, which "
                f"phase {phase.name!r} does not release: expected a fixed clip norm and an allocation that does not ask; "
                'unset tracking and set privacy.allocation to "flat", "dim" or "alpha-split".'
            )


def _step(options: PrivacyOptions, phase: Phase, cohort: CohortSampler, terms: Terms, *, z: float, watch: bool) -> Step:
    noised_by: NoisedBy = "clients" if phase.reads is Reads.EACH or options.noised_by == "clients" else "server"
    if phase.clip_norm is None:
        return Step(phase, _plan(options, phase.layout, cohort, terms, z=z, watch=watch), noised_by)
    if options.mechanism == "none":
        return Step(phase, NonPrivate(phase.layout, cohort, terms.population), noised_by)
    plan = PrivacyPlan(phase.layout, cohort, terms.population, clip_norm=phase.clip_norm, noise_multiplier=z)
    return Step(phase, plan, noised_by)


def _calibrated(options: PrivacyOptions, event: Callable[[float], Event], *, rounds: int, terms: Terms) -> float:
    assert options.epsilon is not None  # noqa: S101 - the options refuse a table with neither
    return noise_multiplier_for(
        options.epsilon, event=event, rounds=rounds, delta=terms.delta, multiplicity=terms.multiplicity
    )


def _plan(
    options: PrivacyOptions, layout: ParameterLayout, cohort: CohortSampler, terms: Terms, *, z: float, watch: bool
) -> Plan:
    layout = layout.grouped(options.grouping)
    watched = layout.groups if watch else ()
    if options.mechanism == "none":
        return NonPrivate(layout, cohort, terms.population, watched=watched)
    return PrivacyPlan(
        layout,
        cohort,
        terms.population,
        allocation=options.allocation,
        clip_norm=options.clip_norm,
        noise_multiplier=z,
        noise_shape=options.noise_shape,
        rule=options.rule,
        tracking=options.tracking,
        shares=options.shares,
        watched=watched,
    )
