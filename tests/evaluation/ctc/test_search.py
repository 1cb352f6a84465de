"""Prefix beam search against the sum over all alignments, counted one by one."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import ConfigError
from sordino.evaluation.ctc import DecodingOptions, Lexicon, beam_search, greedy_path
from sordino.models.ctc import Units

EVERYTHING = 10_000
AB = Units.of_characters("ab ")


def distributions(frames: int, symbols: int, seed: int, *, peaked: float = 1.5) -> np.ndarray:
    scores = peaked * np.random.default_rng(seed).standard_normal((frames, symbols))
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def brute_force(log_probs: np.ndarray, *, blank: int) -> dict[tuple[int, ...], float]:
    """Probability of every text: all symbols^frames alignments."""
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for path in itertools.product(range(log_probs.shape[1]), repeat=len(log_probs)):
        text = tuple(symbol for symbol, _ in itertools.groupby(path) if symbol != blank)
        found[text] += float(np.exp(sum(log_probs[frame, symbol] for frame, symbol in enumerate(path))))
    return found


@given(frames=st.integers(0, 5), symbols=st.integers(2, 4), seed=st.integers(0, 10_000), last=st.booleans())
def test_an_unbounded_beam_finds_the_likeliest_text_and_its_probability(frames, symbols, seed, last) -> None:
    blank = symbols - 1 if last else 0
    log_probs = distributions(frames, symbols, seed)
    exact = brute_force(log_probs, blank=blank)
    text, log_probability = beam_search(log_probs, blank=blank, beam=EVERYTHING)
    assert exact[tuple(text)] == pytest.approx(max(exact.values()), rel=1e-9)
    assert np.exp(log_probability) == pytest.approx(exact[tuple(text)], rel=1e-9)


@given(seed=st.integers(0, 10_000), words=st.sets(st.sampled_from(["a", "ab", "ba", "bb", "aab"]), min_size=1))
def test_a_closed_vocabulary_lets_the_likeliest_of_its_texts_out(seed, words) -> None:
    log_probs = distributions(5, 4, seed)
    exact = brute_force(log_probs, blank=0)
    allowed = {text: p for text, p in exact.items() if set(AB.decode(text).split()) <= words and tidy(text)}
    text, log_probability = beam_search(log_probs, blank=0, beam=EVERYTHING, lexicon=Lexicon(words, AB))
    assert allowed[tuple(text)] == pytest.approx(max(allowed.values()), rel=1e-9)
    assert np.exp(log_probability) == pytest.approx(allowed[tuple(text)], rel=1e-9)


def tidy(text: tuple[int, ...]) -> bool:
    """Spaces only behind words."""
    space = AB.index[" "]
    return text[:1] != (space,) and all(pair != (space, space) for pair in itertools.pairwise(text))


@given(seed=st.integers(0, 10_000), beam=st.integers(1, 4))
def test_a_narrow_beam_writes_only_words_of_the_list(seed, beam) -> None:
    words = {"ab", "bba"}
    text, _ = beam_search(distributions(6, 4, seed), blank=0, beam=beam, lexicon=Lexicon(words, AB))
    assert set(AB.decode(text).split()) <= words


def test_words_as_units_come_in_any_order() -> None:
    units = Units.of_words(["one", "two", "three"])
    log_probs = distributions(6, 4, 3)
    closed = beam_search(log_probs, blank=0, beam=EVERYTHING, lexicon=Lexicon(["one", "three"], units))[0]
    masked = log_probs.copy()
    masked[:, 2] = -np.inf
    assert closed == beam_search(masked, blank=0, beam=EVERYTHING)[0]


def test_the_text_of_many_alignments_beats_the_likeliest_alignment() -> None:
    log_probs = np.log(np.array([[0.6, 0.4], [0.6, 0.4]]))  # "a" has three alignments: .4*.4 + 2*.6*.4 = .64 > .36
    assert greedy_path(log_probs, blank=0) == []
    text, log_probability = beam_search(log_probs, blank=0)
    assert text == [1]
    assert np.exp(log_probability) == pytest.approx(0.64)


def test_greedy_merges_repetitions_and_keeps_what_a_blank_parts() -> None:
    frames = np.eye(3)[[1, 1, 0, 1, 2, 2, 0]]
    assert greedy_path(frames, blank=0) == [1, 1, 2]


def test_impossible_frames_give_a_text_all_the_same() -> None:
    log_probs = np.full((3, 2), -np.inf)
    assert beam_search(log_probs, blank=0)[1] == -np.inf
    assert beam_search(np.zeros((0, 3)), blank=0) == ([], 0.0)


def test_mistakes_are_refused_with_a_remedy() -> None:
    with pytest.raises(ConfigError, match='search = "beam"'):
        DecodingOptions(closed=True)
    with pytest.raises(ConfigError, match=r"beam = 0"):
        DecodingOptions(search="beam", beam=0)
    with pytest.raises(ConfigError, match=r"model.vocabulary"):
        Lexicon(["xyz"], AB)
