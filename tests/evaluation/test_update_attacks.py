"""Attacks on updates, on made-up updates whose content is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from sordino.errors import DataError
from sordino.evaluation.attacks import (
    Transcripts,
    equal_error_rate,
    identify,
    learn_inverse,
    learn_voices,
    likelihood_ratio,
    score_recovery,
)
from sordino.seeds import Seeds

SEEDS = Seeds(0)
WORDS = ("one", "two", "three", "four", "five")


def said(rng: np.random.Generator, count: int) -> list[str]:
    return [" ".join(rng.choice(WORDS, rng.integers(1, 4))) for _ in range(count)]


def updates_of(texts: list[str], rng: np.random.Generator, size: int = 400) -> np.ndarray:
    """Linear in the targets, with a little that is of nobody's concern."""
    mixing = np.random.default_rng(7).normal(size=(Transcripts(texts, places=3).targets(texts).shape[1], size))
    return (Transcripts(texts, places=3).targets(texts) @ mixing + rng.normal(0, 0.3, (len(texts), size))).astype(
        np.float32
    )


def test_an_inverse_recovers_what_updates_are_linear_in() -> None:
    rng = np.random.default_rng(0)
    texts = said(rng, 300)
    updates, transcripts = updates_of(texts, rng), Transcripts(texts[:200])
    inverse = learn_inverse(updates[:200], transcripts.targets(texts[:200]), ridge=1e-3)
    speakers = [str(number // 10) for number in range(100)]
    found = score_recovery(
        transcripts, inverse(updates[200:]), said=texts[200:], speakers=speakers, public=texts[:200], seeds=SEEDS
    )
    assert found.words > 0.97
    assert found.words_ci95 is not None
    assert found.words_ci95[0] > 0.9 > found.chance
    assert found.wer < 0.05 < 0.5 < found.blind_wer
    assert found.to_json()["tried"] == sum(len(set(text.split())) for text in texts[200:])


def test_noise_drowns_it_and_the_inverse_expects_as_much() -> None:
    """Told of the noise, the inverse has a smaller error than one that is not, and under very much it says the mean."""
    rng = np.random.default_rng(1)
    texts = said(rng, 400)
    updates, targets = updates_of(texts, rng), Transcripts(texts).targets(texts)
    noise = rng.normal(size=updates.shape).astype(np.float32)

    def error(told: float, *, real: float) -> float:
        inverse = learn_inverse(updates[:300], targets[:300], noise_stds=told, ridge=1e-3)
        return float(((inverse(updates[300:] + real * noise[300:]) - targets[300:]) ** 2).mean())

    blind = float(((targets[:300].mean(axis=0) - targets[300:]) ** 2).mean())
    assert error(5, real=5) < 0.9 * error(0, real=5)
    assert error(5, real=5) < 0.9 * blind
    assert error(1e4, real=1e4) == pytest.approx(blind, rel=0.01)


def test_coordinates_under_more_noise_count_less() -> None:
    rng = np.random.default_rng(2)
    texts = said(rng, 400)
    updates, targets = updates_of(texts, rng), Transcripts(texts).targets(texts)
    stds = np.where(np.arange(updates.shape[1]) < 200, 20, 0.5).astype(np.float32)
    seen = updates[300:] + stds * rng.normal(size=(100, len(stds))).astype(np.float32)

    def error(told: np.ndarray | float) -> float:
        return float(((learn_inverse(updates[:300], targets[:300], noise_stds=told)(seen) - targets[300:]) ** 2).mean())

    assert error(stds) < 0.7 * error(float(np.sqrt((stds**2).mean())))
    silent = np.where(np.arange(len(stds)) < 200, 0, stds).astype(np.float32)  # a block that nobody may send
    assert np.isfinite(learn_inverse(updates, targets, noise_stds=silent)(seen)).all()


def test_transcripts_go_there_and_back() -> None:
    transcripts = Transcripts(["two one", "three", "one one two"])
    assert transcripts.words == ["one", "three", "two"]
    for text in ("two one", "three", "one one two", ""):
        assert transcripts.text(transcripts.targets([text])[0]) == text
    assert transcripts.likeliest(transcripts.targets(["three two"])[0], count=2) == {"two", "three"}
    assert transcripts.text(transcripts.targets(["four two"])[0]).endswith("two"), "an unknown word leaves no mark"
    with pytest.raises(DataError, match="no word"):
        Transcripts([""])


def people(rng: np.random.Generator, count: int, each: int, *, voice: float, size: int = 300) -> np.ndarray:
    """Updates, most of whose variety is what was said: 20 directions of that, and 10 of voices."""
    axes = np.linalg.qr(np.random.default_rng(5).normal(size=(size, 30)))[0].T
    content = 5 * rng.normal(size=(count, each, 20)) @ axes[:20]
    voices = voice * rng.normal(size=(count, 1, 10)) @ axes[20:]
    return (content + voices + rng.normal(0, 0.1, (count, each, size))).astype(np.float32)


def test_a_voice_is_found_below_what_was_said() -> None:
    rng = np.random.default_rng(3)
    shadows, candidates = people(rng, 40, 4, voice=1), people(rng, 50, 2, voice=1)
    space = learn_voices(shadows.reshape(160, -1), np.repeat(np.arange(40), 4), seeds=SEEDS)
    found = identify(space, enrolled=candidates[:, 0], seen=candidates[:, 1])
    assert found.named.ci95[0] > 0.5
    assert found.equal_error_rate < 0.1
    assert found.named.chance == 1 / 50
    raw = candidates / np.linalg.norm(candidates, axis=2, keepdims=True)
    cosine = (raw[:, 1] @ raw[:, 0].T).argmax(axis=1) == np.arange(50)
    assert found.named.right > 2 * cosine.sum(), "without learning what was said gets in the way"


def test_no_voice_and_too_much_noise_are_chance() -> None:
    rng = np.random.default_rng(4)
    for voice, noise in ((0, 0), (1, 30)):
        shadows, candidates = people(rng, 40, 4, voice=voice), people(rng, 60, 2, voice=voice)
        space = learn_voices(shadows.reshape(160, -1), np.repeat(np.arange(40), 4), noise_stds=noise, seeds=SEEDS)
        seen = candidates[:, 1] + noise * rng.normal(size=candidates[:, 1].shape).astype(np.float32)
        found = identify(space, enrolled=candidates[:, 0], seen=seen)
        assert found.named.ci95[0] <= found.named.chance
        assert 0.35 < found.equal_error_rate < 0.65


def test_equal_error_rate_of_two_known_distributions() -> None:
    rng = np.random.default_rng(5)
    assert equal_error_rate(rng.normal(2, 1, 20_000), rng.normal(0, 1, 20_000)) == pytest.approx(norm.cdf(-1), abs=0.01)
    assert equal_error_rate(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 0


def test_shadow_runs_tell_who_took_part() -> None:
    rng = np.random.default_rng(6)
    hard = rng.normal(0, 5, 300)  # people differ far more than taking part changes

    def run(taken: np.ndarray) -> np.ndarray:
        return hard + 1.0 * taken + rng.normal(0, 0.5, 300)

    coins = rng.random((17, 300)) < 0.5
    runs = np.stack([run(taken) for taken in coins])
    found = likelihood_ratio(runs[1:], coins[1:], runs[0], coins[0])
    assert found.guessed.right / 300 == pytest.approx(norm.cdf(1), abs=0.06), "the best that anybody can do"
    assert found.area == pytest.approx(norm.cdf(2**0.5), abs=0.05)
    assert found.to_json()["shadows"] == 16
    nothing = likelihood_ratio(runs[1:], coins[1:], hard + rng.normal(0, 0.5, 300), coins[0])
    assert nothing.guessed.ci95[0] < 0.5


def test_somebody_whom_no_shadow_run_had_is_guessed_by_the_others() -> None:
    coins = np.array([[True, False, True], [False, True, True], [True, False, True]])
    runs = np.where(coins, 1.0, 0.0)
    found = likelihood_ratio(runs, coins, np.array([1.0, 0.0, 1.2]), np.array([True, False, True]))
    assert found.guessed.right == 3
    assert likelihood_ratio(runs, coins, runs[0], np.array([True] * 3)).area is None


def test_what_cannot_be_attacked_is_refused() -> None:
    one = np.zeros((1, 3), np.float32)
    with pytest.raises(DataError, match="at least 2"):
        learn_inverse(one, np.zeros((1, 2)))
    with pytest.raises(DataError, match="at least two people"):
        learn_voices(np.zeros((4, 3), np.float32), np.zeros(4, int), seeds=SEEDS)
    with pytest.raises(DataError, match="at least two runs"):
        likelihood_ratio(np.zeros((1, 3)), np.zeros((1, 3), bool), np.zeros(3), np.zeros(3, bool))
