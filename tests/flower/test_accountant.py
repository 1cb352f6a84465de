"""Flower's protocol, our figures: equal to the ledger's, never above Flower's own where both are of one model."""

from __future__ import annotations

import json

import pytest
from flwr.serverapp import GaussianPrivacyEvent, NeighboringRelation, PrivacyConfig, RdpAccountant, SamplingMethod
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg

from sordino.errors import ConfigError
from sordino.flower.accountant import GuaranteedAccountant
from sordino.privacy import FixedSizeGaussian, PoissonGaussian, guaranteed

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
EVENT = GaussianPrivacyEvent(noise_multiplier=1.1, sample_size=30, population_size=300)
MODELS = [
    (SamplingMethod.POISSON, ADD, PoissonGaussian(noise_multiplier=1.1, rate=0.1)),
    (SamplingMethod.WITHOUT_REPLACEMENT, REPLACE, FixedSizeGaussian(noise_multiplier=1.1, size=30, population=300)),
    (SamplingMethod.NO_AMPLIFICATION, ADD, PoissonGaussian(noise_multiplier=1.1, rate=1.0)),
]


def config(sampling: SamplingMethod = SamplingMethod.POISSON, relation: NeighboringRelation = ADD,
           max_epsilon: float | None = None) -> PrivacyConfig:  # fmt: skip
    return PrivacyConfig(1e-5, 300, relation, sampling, max_epsilon)


@pytest.mark.parametrize(("sampling", "relation", "event"), MODELS)
def test_the_figure_is_the_ledgers(sampling: SamplingMethod, relation: NeighboringRelation, event: object) -> None:
    ours = GuaranteedAccountant(config(sampling, relation))
    assert ours.get_epsilon(1e-5) == 0
    ours.compose(EVENT, 20)
    spent = ours.get_privacy_spent()
    assert spent.epsilon == guaranteed([event] * 20, delta=1e-5).value  # type: ignore[list-item]
    assert (spent.num_releases, spent.delta) == (20, 1e-5)


@pytest.mark.parametrize(("sampling", "relation", "event"), [MODELS[0], MODELS[2]])
def test_it_never_claims_more_than_flowers_own(
    sampling: SamplingMethod, relation: NeighboringRelation, event: object
) -> None:
    ours, theirs = GuaranteedAccountant(config(sampling, relation)), RdpAccountant(config(sampling, relation))
    for accountant in (ours, theirs):
        accountant.compose(EVENT, 20)
    assert 0.5 * theirs.get_epsilon(1e-5) < ours.get_epsilon(1e-5) <= theirs.get_epsilon(1e-5) * (1 + 1e-6)


def test_delta_is_the_inverse_of_epsilon() -> None:
    ours = GuaranteedAccountant(config())
    ours.compose(EVENT, 5)
    delta = ours.get_delta(ours.get_epsilon(1e-5))
    assert delta == pytest.approx(1e-5, rel=1e-2)
    assert ours.get_epsilon(delta) <= ours.get_epsilon(1e-5)


def test_a_budget_and_what_is_missing() -> None:
    ours = GuaranteedAccountant(config(max_epsilon=2.0))
    assert not ours.would_exceed(EVENT)
    assert ours.would_exceed(EVENT, count=500)
    assert ours.num_releases == 0
    with pytest.raises(ConfigError, match="max_epsilon is missing"):
        GuaranteedAccountant(config()).would_exceed(EVENT)
    with pytest.raises(ConfigError, match="population of 301"):
        ours.compose(GaussianPrivacyEvent(1.0, 30, 301))


def test_its_state_survives_json() -> None:
    ours, again = GuaranteedAccountant(config(max_epsilon=3.0)), GuaranteedAccountant(config())
    ours.compose(EVENT, 3)
    again.load_state_dict(json.loads(json.dumps(ours.state_dict())))
    assert (again.config, again.get_privacy_spent()) == (ours.config, ours.get_privacy_spent())


def test_a_strategy_of_flower_takes_it() -> None:
    ours = GuaranteedAccountant(config(SamplingMethod.NO_AMPLIFICATION))
    strategy = DifferentialPrivacyServerSideFixedClipping(FedAvg(), 1.1, 1.0, 30, accountant=ours)
    strategy._compose_release(EVENT)
    spent = strategy.privacy_spent()
    assert spent is not None
    assert spent.num_releases == 1
