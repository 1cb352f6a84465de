"""Moments, shape and independence of the noise. Seeds are fixed where a threshold could fail by chance."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from sordino.privacy import NoiseSource
from sordino.privacy.noise import Stream
from sordino.seeds import Seeds

SIZE = 400_000


def normals(*place: str | int, size: int = SIZE) -> np.ndarray:
    return NoiseSource(Seeds(1)).stream(*place).normal(size)


def test_moments_of_the_normal_distribution() -> None:
    x = normals("moments")
    assert abs(x.mean()) < 4 / math.sqrt(SIZE)
    assert abs(x.var() - 1) < 4 * math.sqrt(2 / SIZE)
    assert abs(stats.skew(x)) < 4 * math.sqrt(6 / SIZE)
    assert abs(stats.kurtosis(x)) < 4 * math.sqrt(24 / SIZE)


def test_the_distribution_is_normal_to_the_tails() -> None:
    x = normals("shape")
    assert stats.kstest(x, "norm").pvalue > 0.01
    for threshold in (2.0, 3.0, 4.0):
        expected = 2 * stats.norm.sf(threshold) * SIZE
        assert abs((np.abs(x) > threshold).sum() - expected) < 4 * math.sqrt(expected)


def test_both_halves_of_a_pair_are_normal_and_independent() -> None:
    x = normals("pairs")
    radius, angle = x[: SIZE // 2], x[SIZE // 2 :]
    assert stats.kstest(radius, "norm").pvalue > 0.01
    assert stats.kstest(angle, "norm").pvalue > 0.01
    for power in (1, 2):
        correlation = np.corrcoef(radius**power, angle**power)[0, 1]
        assert abs(correlation) < 4 / math.sqrt(SIZE / 2)


@pytest.mark.parametrize("lag", [1, 2, 7, 64])
def test_neighbours_are_uncorrelated(lag: int) -> None:
    x = normals("lag")
    assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) < 4 / math.sqrt(SIZE)


def test_samples_are_finer_than_single_precision() -> None:
    x = normals("fine", size=1000)
    assert x.dtype == np.float64
    assert (x != x.astype(np.float32)).mean() > 0.99


@pytest.mark.parametrize("size", [0, 1, 2, 3, (1 << 20) - 1, (1 << 20) + 1])
def test_any_number_of_samples(size: int) -> None:
    x = normals("size", size=size)
    assert x.shape == (size,)
    assert np.isfinite(x).all()
    assert len(np.unique(x)) == size


def test_uniform_numbers() -> None:
    u = NoiseSource(Seeds(1)).stream("uniform").uniform(SIZE)
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 0.01
    assert np.all(u * 2.0**53 == np.floor(u * 2.0**53))


def test_the_logarithm_never_sees_zero() -> None:
    class Zeros(Stream):
        def uniform(self, size: int) -> np.ndarray:
            return np.zeros(size)

    x = Zeros(bytes(32)).normal(4)
    assert np.isfinite(x).all()
    assert x.max() == pytest.approx(math.sqrt(2 * 53 * math.log(2)))


def test_streams_of_different_places_rounds_and_seeds_are_independent() -> None:
    size = 20_000
    streams = [normals("noise", 1, size=size), normals("noise", 2, size=size), normals("cohort", 1, size=size)]
    streams.append(NoiseSource(Seeds(2)).stream("noise", 1).normal(size))
    for first, second in combinations(streams, 2):
        assert abs(np.corrcoef(first, second)[0, 1]) < 4.5 / math.sqrt(size)
        assert not np.intersect1d(first, second).size


def test_normals_made_in_pieces_are_those_of_the_formula_over_all_pairs() -> None:
    seeds = Seeds(4)
    uniform = NoiseSource(seeds).stream("n").uniform(2 * 20_000)
    radius, angle = np.sqrt(-2 * np.log(uniform[:20_000] + 2.0**-53)), 2 * np.pi * uniform[20_000:]
    expected = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    np.testing.assert_allclose(NoiseSource(seeds).stream("n").normal(40_000), expected, rtol=1e-12, atol=1e-12)


def test_a_stream_goes_on_and_never_repeats() -> None:
    stream = NoiseSource(Seeds(1)).stream("one")
    parts = np.concatenate([stream.normal(1000) for _ in range(5)])
    assert len(np.unique(parts)) == 5000


def test_seeded_streams_repeat_and_unseeded_ones_do_not() -> None:
    assert np.array_equal(normals("noise", 3, size=10), normals("noise", 3, size=10))
    free = NoiseSource()
    assert (free.seeded, NoiseSource(Seeds(0)).seeded) == (False, True)
    assert not np.array_equal(free.stream("noise", 3).normal(10), free.stream("noise", 3).normal(10))
