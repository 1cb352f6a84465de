"""The speaker bootstrap: coverage on simulated speakers, pairing, edge cases, speed."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pytest

from sordino.errors import ConfigError, DataError
from sordino.evaluation import FEW_SPEAKERS, Errors, difference_interval, speaker_interval
from sordino.seeds import Seeds


def simulated(num_speakers: int, random: np.random.Generator, *, mean: float = 0.3) -> dict[str, Errors]:
    """Speakers whose own rates differ (Beta around ``mean``), 50 words each."""
    rates = random.beta(10 * mean, 10 * (1 - mean), size=num_speakers)
    return {
        f"s{index}": Errors(substitutions=int(random.binomial(50, rate)), words=50) for index, rate in enumerate(rates)
    }


def bounds(by_speaker: Mapping[str, Errors], seed: int = 0) -> tuple[float, float]:
    found = speaker_interval(by_speaker, seeds=Seeds(seed)).bounds
    assert found is not None
    return found


def test_it_covers_the_true_rate_about_95_times_in_100() -> None:
    """A percentile bootstrap of 40 speakers falls a little short of 95 %; 300 trials have a standard error of 1.3 %."""
    random = np.random.default_rng(7)
    covered = 0
    for trial in range(300):
        interval = speaker_interval(simulated(40, random), seeds=Seeds(trial), resamples=1000)
        assert interval.bounds is not None
        covered += interval.bounds[0] <= 0.3 <= interval.bounds[1]
    assert 0.90 <= covered / 300 <= 0.98


def test_its_width_is_that_of_the_normal_theory() -> None:
    by_speaker = simulated(400, np.random.default_rng(1))
    rates = np.array([errors.rate for errors in by_speaker.values()])
    low, high = bounds(by_speaker)
    assert high - low == pytest.approx(2 * 1.96 * rates.std() / np.sqrt(len(rates)), rel=0.05)
    assert low < rates.mean() < high


def test_speakers_weigh_by_their_words() -> None:
    """The draws pool errors over words; a mean of the speakers' rates would lie near one half."""
    by_speaker = {f"long{i}": Errors(words=1000) for i in range(20)} | {
        f"short{i}": Errors(substitutions=1, words=1) for i in range(20)
    }
    assert bounds(by_speaker)[1] < 0.01


def test_two_speakers_by_hand() -> None:
    """Draws are (a, a), (a, b), (b, b) with weights 1, 2, 1: the tails reach both ends."""
    by_speaker = {"a": Errors(words=10), "b": Errors(substitutions=5, words=10)}
    interval = speaker_interval(by_speaker, seeds=Seeds(0))
    assert interval.bounds == (0.0, 0.5)
    assert "only 2 speakers" in interval.note


def test_the_note_ends_where_there_are_enough_speakers() -> None:
    random = np.random.default_rng(0)
    assert speaker_interval(simulated(FEW_SPEAKERS - 1, random), seeds=Seeds(0)).note
    assert speaker_interval(simulated(FEW_SPEAKERS, random), seeds=Seeds(0)).note == ""


def test_one_speaker_has_no_interval_but_a_reason() -> None:
    interval = speaker_interval({"a": Errors(substitutions=1, words=4)}, seeds=Seeds(0))
    assert interval.bounds is None
    assert "single speaker" in interval.note


def test_no_speakers_or_no_words_are_refused() -> None:
    with pytest.raises(DataError, match="0 speakers"):
        speaker_interval({}, seeds=Seeds(0))
    with pytest.raises(DataError, match="0 reference words"):
        speaker_interval({"a": Errors(insertions=3), "b": Errors()}, seeds=Seeds(0))
    with pytest.raises(ConfigError, match="resamples = 0"):
        speaker_interval({"a": Errors(words=1)}, seeds=Seeds(0), resamples=0)


def test_a_speaker_without_words_still_adds_insertions() -> None:
    silent = {"silent": Errors(insertions=10)}
    speaking = {f"s{index}": Errors(words=10) for index in range(9)}
    low, high = bounds(silent | speaking)
    assert low == 0
    assert 0.1 < high < 1


def test_the_seed_decides_and_the_order_of_speakers_does_not() -> None:
    by_speaker = simulated(30, np.random.default_rng(3))
    backwards = dict(reversed(by_speaker.items()))
    assert bounds(by_speaker, seed=1) == bounds(backwards, seed=1)
    assert bounds(by_speaker, seed=1) != bounds(by_speaker, seed=2)


def test_memory_limits_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    by_speaker = simulated(30, np.random.default_rng(3))
    whole = bounds(by_speaker)
    monkeypatch.setattr("sordino.evaluation.significance._CHUNK", 1000)
    assert bounds(by_speaker) == whole


def test_pairing_cancels_what_makes_a_speaker_hard() -> None:
    random = np.random.default_rng(5)
    first = simulated(40, random)
    second = {name: Errors(substitutions=max(0, errors.total - 2), words=50) for name, errors in first.items()}
    paired = difference_interval(first, second, seeds=Seeds(0)).bounds
    assert paired is not None
    assert 0 < paired[0] <= paired[1] < 0.05
    (low, high), (other_low, other_high) = bounds(first), bounds(second)
    assert low < other_high, "unpaired, the two intervals overlap"
    assert paired[1] - paired[0] < 0.2 * min(high - low, other_high - other_low)


def test_a_system_against_itself_and_the_other_way_round() -> None:
    random = np.random.default_rng(5)
    first, second = simulated(20, random), simulated(20, random, mean=0.4)
    assert difference_interval(first, first, seeds=Seeds(0)).bounds == (0.0, 0.0)
    there = difference_interval(first, second, seeds=Seeds(0)).bounds
    back = difference_interval(second, first, seeds=Seeds(0)).bounds
    assert there is not None
    assert back == pytest.approx((-there[1], -there[0]))


def test_a_difference_is_refused_between_different_test_sets() -> None:
    first = {"a": Errors(words=10), "b": Errors(words=10)}
    with pytest.raises(DataError, match="speaker 'b' is in one of the two results only"):
        difference_interval(first, {"a": Errors(words=10)}, seeds=Seeds(0))
    with pytest.raises(DataError, match="speaker 'b' has 10 reference words in one result and 11"):
        difference_interval(first, {"a": Errors(words=10), "b": Errors(words=11)}, seeds=Seeds(0))


def test_ten_thousand_draws_of_500_speakers_take_well_under_a_second() -> None:
    by_speaker = simulated(500, np.random.default_rng(0))
    times = []
    for _ in range(3):
        start = time.perf_counter()
        speaker_interval(by_speaker, seeds=Seeds(0))
        times.append(time.perf_counter() - start)
    assert min(times) < 1.0
