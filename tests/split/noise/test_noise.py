"""Laws of noise: what the released code draws against what d_chi privacy is, bounds, payment and guarantees."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sordino.errors import ConfigError, PrivacyError
from sordino.privacy import Ledger, MetricRelease, NoiseSource, Terms, guaranteed
from sordino.privacy.noise import Stream
from sordino.split.noise import NOISES, DChi, EmbeddingNoise, Gaussian, L1Product, NoNoise, Space
from sordino.split.noise.gamma import gamma

WIDE = Space(width=1536, radius=0.974, max_tokens=32)
SMALL = Space(width=8, radius=2.0, max_tokens=4)
ALL = [DChi(eta=3.0), L1Product(eta=3.0), Gaussian(noise_multiplier=0.5), NoNoise()]


def stream() -> Stream:
    return Stream(bytes(range(32)))


def terms(unit: str = "token") -> Terms:
    return Terms(unit=unit, population=5, clients_per_speaker=1, delta=1e-5)


@pytest.mark.parametrize("shape", [1.0, 2.5, 64.0, 1536.0])
def test_gamma_has_its_law(shape: float) -> None:
    assert stats.kstest(gamma(shape, size=20_000, stream=stream()), stats.gamma(shape).cdf).pvalue > 1e-3


def test_d_chi_has_the_radius_of_its_definition() -> None:
    norms = np.linalg.norm(DChi(eta=100.0).sample(2_000, space=WIDE, stream=stream()), axis=1)
    assert norms.mean() == pytest.approx(15.36, rel=2e-3)  # d / eta
    assert stats.kstest(100.0 * norms, stats.gamma(1536).cdf).pvalue > 1e-3


def test_d_chi_points_anywhere_alike() -> None:
    noise = DChi(eta=1.0).sample(20_000, space=SMALL, stream=stream())
    directions = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    np.testing.assert_allclose(directions.mean(axis=0), 0, atol=0.015)
    np.testing.assert_allclose(np.cov(directions.T), np.eye(8) / 8, atol=0.006)
    # A sphere, not a cube: the fourth moment of a coordinate is 3 / (d (d + 2)), and uniform coordinates have less.
    np.testing.assert_allclose((directions**4).mean(axis=0), 3 / 80, rtol=0.05)


def test_the_released_law_is_22_times_as_long() -> None:
    norms = np.linalg.norm(L1Product(eta=100.0).sample(200, space=WIDE, stream=stream()), axis=1)
    assert norms.mean() == pytest.approx(348, rel=5e-3)


def test_the_released_law_keeps_the_ratio_it_is_labelled_with() -> None:
    """The density of a coordinate is the tail of Gamma(d - 1) up to a factor; its logarithm never falls faster than eta."""
    x = np.linspace(1e-3, 40, 4_000)
    slope = np.diff(stats.gamma(7).logsf(x)) / np.diff(x)  # d = 8, eta = 1
    assert slope.min() > -1.0
    noise = np.abs(L1Product(eta=1.0).sample(4_000, space=SMALL, stream=stream())).ravel()
    # P[|n| <= x]: lengths below x, and of the longer ones the part x / length.
    assert stats.kstest(noise, lambda x: stats.gamma(8).cdf(x) + x / 7 * stats.gamma(7).sf(x)).pvalue > 1e-3


def test_gaussian_has_the_deviation_that_its_event_states() -> None:
    noise = Gaussian(noise_multiplier=0.5)
    assert noise.sample(20_000, space=SMALL, stream=stream()).std() == pytest.approx(2 * 2.0 * 0.5, rel=0.01)
    assert noise.event("token", space=SMALL).noise_multiplier == 0.5
    assert noise.event("sequence", space=SMALL).noise_multiplier == 0.25  # four tokens: twice the sensitivity


def test_gaussian_states_the_analytic_epsilon() -> None:
    found = Gaussian(noise_multiplier=3.7306).guarantee("token", space=SMALL, draws=1, delta=1e-5)
    assert found.epsilon == pytest.approx(1.0, abs=0.01)
    assert found.kind == "differential"
    four = Gaussian(noise_multiplier=3.7306).guarantee("token", space=SMALL, draws=4, delta=1e-5)
    assert four.epsilon == pytest.approx(
        Gaussian(noise_multiplier=3.7306).guarantee("sequence", space=SMALL, draws=1, delta=1e-5).epsilon
    )


@pytest.mark.parametrize("noise", ALL, ids=lambda noise: noise.name)
def test_draws_add_up(noise: EmbeddingNoise) -> None:
    for unit in ("token", "sequence"):
        once, twice = (noise.guarantee(unit, space=SMALL, draws=k, delta=1e-5).epsilon for k in (1, 2))
        assert math.isinf(once) or twice > once


def test_largest_ratio_in_words() -> None:
    found = DChi(eta=100.0).guarantee("token", space=WIDE, draws=1, delta=1e-5)
    assert found.epsilon == pytest.approx(194.8)
    assert "e^195" in found.words


@pytest.mark.parametrize("noise", ALL, ids=lambda noise: noise.name)
def test_release_is_paid_bounded_and_fresh(noise: EmbeddingNoise, tmp_path: Path) -> None:
    clean = np.full((5, 8), 10.0, np.float32)
    with Ledger(tmp_path / "ledger.jsonl", terms=terms()) as ledger:
        event = noise.event("token", space=SMALL)
        first, second = (
            noise.release(clean, space=SMALL, unit="token", receipt=ledger.charge(event, round=k), noise=NoiseSource())
            for k in (1, 2)
        )
        spent = ledger.charge(event, round=3)
        noise.release(clean, space=SMALL, unit="token", receipt=spent, noise=NoiseSource())
        with pytest.raises(PrivacyError, match="already"):
            noise.release(clean, space=SMALL, unit="token", receipt=spent, noise=NoiseSource())
        other = ledger.charge(MetricRelease(eta=9.0, metric="l2", what="else"), round=4)
        with pytest.raises(PrivacyError, match="receipt is for"):
            noise.release(clean, space=SMALL, unit="token", receipt=other, noise=NoiseSource())
    if noise.name != "none":
        assert np.linalg.norm(first, axis=1).max() <= 2.0 + 1e-5
        assert not np.isclose(first, second).any(axis=1).all()
        assert len({row.tobytes() for row in first}) == 5  # independent from token to token


def test_no_figure_is_given_for_metric_privacy(tmp_path: Path) -> None:
    assert guaranteed([DChi().event("token", space=SMALL)], delta=1e-5).value is None


@pytest.mark.parametrize("made", [lambda: DChi(eta=0), lambda: Gaussian(noise_multiplier=0), lambda: DChi(radius=-1)])
def test_impossible_noise_is_refused(made: object) -> None:
    with pytest.raises(ConfigError, match="expected"):
        made()


def test_all_are_registered() -> None:
    assert NOISES.names() == ["d-chi", "gaussian", "l1-product", "none"]
