"""From the ``[privacy]`` table to a plan and the ledger's terms."""

from __future__ import annotations

from collections.abc import Sequence

from sordino.errors import ConfigError
from sordino.layout import ParameterLayout
from sordino.privacy.calibration import noise_multiplier_for
from sordino.privacy.cohort import CohortSampler
from sordino.privacy.ledger import Terms
from sordino.privacy.options import PrivacyOptions
from sordino.privacy.plan import NonPrivate, Plan, PrivacyPlan

__all__ = ["make_plan", "make_terms"]


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
        ),
    )


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
    layout = layout.grouped(options.grouping)
    watched = layout.groups if watch else ()
    if options.mechanism == "none":
        return NonPrivate(layout, cohort, terms.population, watched=watched)
    z = options.noise_multiplier
    if z is None:
        assert options.epsilon is not None  # noqa: S101 - the options refuse a table with neither
        z = noise_multiplier_for(
            options.epsilon,
            event=lambda candidate: cohort.event(candidate, population=terms.population),
            rounds=rounds,
            delta=terms.delta,
            multiplicity=terms.multiplicity,
        )
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
        watched=watched,
    )
