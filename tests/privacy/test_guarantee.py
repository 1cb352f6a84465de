"""From the table to the plan and the terms."""

from __future__ import annotations

from typing import Any

import pytest

from sordino.errors import ConfigError
from sordino.layout import ParameterLayout
from sordino.privacy import (
    FixedSize,
    NonPrivate,
    Plan,
    Poisson,
    PrivacyOptions,
    PrivacyPlan,
    Terms,
    guaranteed,
    make_plan,
    make_terms,
)
from sordino.privacy.allocations.ema import DimEma

LAYOUT = ParameterLayout.from_shapes([("encoder.a.lora_A.weight", "encoder", (4,)), ("decoder.b", "decoder", (4,))])


def terms_of(options: PrivacyOptions, **changes: Any) -> Terms:
    return make_terms(options, **{"population": 100, "clients_per_speaker": 1, "seeded": False, **changes})


def plan_of(options: PrivacyOptions, terms: Terms, rounds: int = 10) -> Plan:
    return make_plan(options, layout=LAYOUT, cohort=Poisson(0.3), rounds=rounds, terms=terms)


def test_epsilon_alone_decides_the_noise_for_the_protected_unit() -> None:
    options = PrivacyOptions(epsilon=8.0)
    for clients, cohort in ((1, Poisson(0.3)), (2, FixedSize(8))):
        terms = terms_of(options, clients_per_speaker=clients)
        plan = make_plan(options, layout=LAYOUT, cohort=cohort, rounds=10, terms=terms)
        assert isinstance(plan, PrivacyPlan)
        spent = guaranteed([plan.event()] * 10, delta=terms.delta, multiplicity=clients).value
        assert spent is not None
        assert 8.0 * 0.99 <= spent <= terms.budget == 8.0


def test_a_given_noise_multiplier_is_kept_and_epsilon_is_the_budget() -> None:
    options = PrivacyOptions(epsilon=3.0, noise_multiplier=0.4, clip_norm=2.0, grouping="component")
    terms = terms_of(options)
    plan = plan_of(options, terms)
    assert isinstance(plan, PrivacyPlan)
    assert (plan.noise_multiplier, plan.clip_norm, terms.budget) == (0.4, 2.0, 3.0)
    assert plan.layout.grouping == "component"
    assert terms_of(PrivacyOptions(noise_multiplier=0.4)).budget is None


def test_no_mechanism_is_an_explicit_plan() -> None:
    options = PrivacyOptions(mechanism="none", epsilon=3.0)
    terms = terms_of(options)
    assert isinstance(plan_of(options, terms), NonPrivate)
    assert terms.budget is None


def test_the_declared_population_decides_divisor_and_delta() -> None:
    options = PrivacyOptions(noise_multiplier=1.0, population=10**7)
    terms = terms_of(options)
    assert terms.population == 10**7
    assert terms.delta == pytest.approx(1e-8)
    assert plan_of(options, terms).expected_cohort == pytest.approx(3e6)
    with pytest.raises(ConfigError, match="1/population"):
        terms_of(PrivacyOptions(noise_multiplier=1.0, delta=0.01))


def test_a_speaker_spread_over_mixed_clients_cannot_be_the_unit() -> None:
    with pytest.raises(ConfigError, match=r'set privacy\.unit = "client"'):
        terms_of(PrivacyOptions(epsilon=8.0), clients_per_speaker=None)
    terms = terms_of(PrivacyOptions(epsilon=8.0, unit="client"), clients_per_speaker=None)
    assert (terms.unit, terms.multiplicity) == ("client", 1)
    sessions = {"clients_per_speaker": 4}
    assert terms_of(PrivacyOptions(epsilon=8.0), **sessions).multiplicity == 4
    assert terms_of(PrivacyOptions(epsilon=8.0, unit="client"), **sessions).multiplicity == 1


def test_reading_raw_norms_is_a_caveat() -> None:
    raw = PrivacyOptions(epsilon=8.0, allocation=DimEma(ema_source="raw"))
    assert any("without noise" in caveat for caveat in terms_of(raw, caveats=("other",)).caveats)
    assert terms_of(raw, caveats=("other",)).caveats[0] == "other"
    assert terms_of(PrivacyOptions(epsilon=8.0, allocation=DimEma(), population=500)).caveats == ()


def test_seeds_are_stated() -> None:
    assert terms_of(PrivacyOptions(epsilon=8.0), seeded=True).seeded


def test_a_population_that_was_counted_is_a_caveat() -> None:
    def caveats(**options: Any) -> tuple[str, ...]:
        privacy = PrivacyOptions(**{"epsilon": 8.0, **options})
        return make_terms(privacy, population=500, clients_per_speaker=1, seeded=False).caveats

    assert "counted from the data" in caveats()[0]
    assert caveats(population=500) == ()
    assert caveats(mechanism="none", epsilon=None) == ()
