"""The theorem against mechanisms whose epsilon is known, and the auditor against what it should and should not see."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from sordino.errors import ConfigError
from sordino.evaluation.attacks import (
    Canaries,
    Sighting,
    Success,
    enough_guesses,
    epsilon_lower_bound,
    foresee,
    judge,
    matched_filter,
    p_value,
    require_countable,
)
from sordino.seeds import Seeds


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_randomised_response_meets_the_theorem_exactly(epsilon: float) -> None:
    for correct in (1, 60, 90, 100):
        tail = binom.sf(correct - 1, 100, expit(epsilon))
        found = p_value(canaries=100, guesses=100, correct=correct, epsilon=epsilon, delta=0)
        assert found == pytest.approx(tail, rel=1e-12)


@pytest.mark.parametrize("canaries", [4, 20, 200])
def test_whoever_shows_everything_with_probability_delta_stays_within_the_theorem(canaries: int) -> None:
    delta = 1e-4
    actual = delta + (1 - delta) * 0.5**canaries
    assert p_value(canaries=canaries, guesses=canaries, correct=canaries, epsilon=0, delta=delta) >= actual


def test_delta_costs_once_for_each_canary() -> None:
    exact = p_value(canaries=500, guesses=40, correct=35, epsilon=1, delta=0)
    below = binom.pmf(np.arange(34, -1, -1), 40, expit(1)).cumsum() / np.arange(1, 36)
    found = p_value(canaries=500, guesses=40, correct=35, epsilon=1, delta=1e-5)
    assert found - exact == pytest.approx(2 * 500 * 1e-5 * below.max(), rel=1e-12)


def test_all_right_guesses_prove_about_the_logarithm_of_a_third_of_their_number() -> None:
    for guesses in (20, 100, 1000):
        right = 0.05 ** (1 / guesses)
        bound = epsilon_lower_bound(canaries=guesses, guesses=guesses, correct=guesses, delta=0)
        assert bound == pytest.approx(math.log(right / (1 - right)), abs=1e-5)
        assert bound == pytest.approx(math.log(guesses / 3), abs=0.08)


def test_guessing_like_a_coin_proves_nothing() -> None:
    assert epsilon_lower_bound(canaries=100, guesses=100, correct=50, delta=1e-6) == 0
    assert epsilon_lower_bound(canaries=100, guesses=100, correct=0, delta=1e-6) == 0


def test_delta_and_fewer_right_guesses_lower_the_bound() -> None:
    def bound(correct: int, delta: float) -> float:
        return epsilon_lower_bound(canaries=1000, guesses=200, correct=correct, delta=delta)

    assert bound(200, 0) > bound(195, 0) > bound(195, 1e-5) > bound(180, 1e-5) > 0


def test_more_canaries_than_delta_bears_are_refused() -> None:
    require_countable(500_000, delta=1e-6)
    with pytest.raises(ConfigError, match=r"at most 1 / \(2 delta\) = 500, since"):
        require_countable(501, delta=1e-3)


def test_enough_guesses_is_the_least_number() -> None:
    least = enough_guesses(2.0, canaries=1000, most=1000, delta=1e-7, level=0.01)
    assert least is not None
    for guesses, refuted in ((least, True), (least - 1, False)):
        bound = epsilon_lower_bound(canaries=1000, guesses=guesses, correct=guesses, delta=1e-7, level=0.01)
        assert (bound > 2.0) == refuted
    assert enough_guesses(9.0, canaries=1000, most=1000, delta=1e-7, level=0.01) is None


def test_success_has_the_exact_interval() -> None:
    assert Success(right=0, tried=10, chance=0.5).ci95 == pytest.approx((0, 0.30850), abs=1e-5)
    assert Success(right=10, tried=10, chance=0.5).ci95 == pytest.approx((0.69150, 1), abs=1e-5)


def test_directions_are_unit_signs_of_their_own_that_hardly_overlap() -> None:
    canaries = Canaries(30, ("whole", "part"), 4001, Seeds(3))
    signs = np.stack([canaries.signs(index) for index in range(30)])
    assert set(np.unique(signs)) == {-1.0, 1.0}
    overlap = signs @ signs.T / 4001 - np.eye(30)
    assert np.abs(overlap).max() < 5 / math.sqrt(4001)
    assert np.array_equal(canaries.signs(7), signs[7])
    assert not np.array_equal(Canaries(30, ("whole",), 4001, Seeds(4)).signs(7), signs[7])


def test_the_matched_filter_finds_what_was_sent_at_the_multiplier_of_its_part() -> None:
    canaries = Canaries(200, ("whole",), 3000, Seeds(0))
    heights = np.repeat([0.3, 0.1], 1500).astype(np.float32) / math.sqrt(1500)
    stds = np.repeat([1.0, 0.2], 1500)
    chosen = matched_filter(heights, stds)
    assert chosen.noise == pytest.approx((0.3**2 / 1.0 + 0.1**2 / 0.04) ** -0.5)
    sent = canaries.signs(5) * heights
    assert canaries.look([[sent * chosen.weights]])[5, 0] == pytest.approx(1, abs=1e-5)
    noise = np.random.default_rng(0).normal(size=3000).astype(np.float32) * stds.astype(np.float32)
    seen = canaries.look([[noise * chosen.weights]])
    assert seen.std() == pytest.approx(chosen.noise, rel=0.15)


def test_without_noise_all_parameters_count_and_without_signal_none() -> None:
    precise = matched_filter(np.full(4, 0.5, np.float32), np.zeros(4))
    assert (precise.weights.tolist(), precise.noise) == ([0.5] * 4, 0.0)
    unseen = matched_filter(np.zeros(4, np.float32), np.ones(4))
    assert (unseen.weights.tolist(), unseen.noise) == ([0.0] * 4, math.inf)


def sighting(num: int, *, noise: float, factor: float, rate: float = 0.5, seed: int = 0) -> tuple[Sighting, np.ndarray]:
    generator = Seeds(seed).at("sighting").generator()
    included = generator.random(num) < 0.5
    present = included[:, None] & (generator.random((num, 6)) < rate)
    spread = np.full((num, 6), noise)
    seen = Sighting(
        observed=present + factor * spread * generator.normal(size=(num, 6)),
        noise=spread, interference=0 * spread, kind=np.arange(num) % 2, kinds=("whole", "part"), rate=rate,
    )  # fmt: skip
    return seen, included


def test_the_bound_rises_as_the_noise_falls() -> None:
    bounds = [judge(*sighting(2000, noise=4.0, factor=factor), delta=1e-6).lower_bound for factor in (1, 0.3, 0.05)]
    assert bounds[0] < bounds[1] < bounds[2]
    assert bounds[2] > 3


def test_coins_that_nothing_depends_on_give_no_bound() -> None:
    false_alarms = 0
    for seed in range(20):
        seen, _ = sighting(400, noise=1.0, factor=1.0, seed=seed)
        coins = Seeds(seed).at("others").generator().random(400) < 0.5
        false_alarms += judge(seen, coins, delta=1e-6).lower_bound > 0
    assert false_alarms <= 3  # at most one in twenty, of twenty


def test_a_leak_among_one_kind_only_is_found_there() -> None:
    seen, included = sighting(2000, noise=4.0, factor=1.0)
    leaking = seen.kind == 1
    observed = np.where(leaking[:, None], included[:, None] * [[1, 0, 1, 0, 1, 0]], seen.observed)
    found = judge(Sighting(observed=observed, noise=seen.noise, interference=seen.interference, kind=seen.kind,
                           kinds=seen.kinds, rate=seen.rate), included, delta=1e-6)  # fmt: skip
    assert (found.kind, found.correct) == ("part", found.guesses)
    assert found.lower_bound > 3


def test_foresight_agrees_with_what_happens() -> None:
    expected, _ = sighting(1000, noise=4.0, factor=1.0)
    foreseen = foresee(expected, claimed=1.0, delta=1e-6, seeds=Seeds(1))
    assert foreseen.noise_factor is not None
    assert judge(*sighting(1000, noise=4.0, factor=foreseen.noise_factor / 3), delta=1e-6).lower_bound > 1.0
    assert judge(*sighting(1000, noise=4.0, factor=min(1.0, foreseen.noise_factor * 3)), delta=1e-6).lower_bound < 1.0
    helpless = foresee(expected, claimed=12.0, delta=1e-6, seeds=Seeds(1))
    assert (helpless.fewest_clients, helpless.noise_factor) == (None, None)
    unclaimed = foresee(expected, claimed=None, delta=1e-6, seeds=Seeds(1))
    assert unclaimed.highest == foreseen.highest > 1.0


@pytest.mark.parametrize("rate", [1.0, 0.5, 0.1])
def test_no_finding_exceeds_what_was_foreseen_by_more_than_luck(rate: float) -> None:
    expected, included = sighting(400, noise=1.0, factor=1.0)
    present = included[:, None] & (np.random.default_rng(3).random(expected.noise.shape) < rate)
    bare = replace(expected, observed=present.astype(float), noise=np.full(present.shape, 0.01), rate=rate)
    foreseen = foresee(bare, claimed=None, delta=1e-6, seeds=Seeds(1))
    found = judge(bare, included, delta=1e-6)
    assert foreseen.highest == pytest.approx(found.lower_bound, abs=0.25), "everything leaks"
