"""MAPSSWE: the textbook example, a brute-force permutation, and what it cannot say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sordino.errors import ConfigError, DataError
from sordino.evaluation import Sample, mapsswe, mark, matched_pairs
from sordino.evaluation.mapsswe import MANY_SEGMENTS, segments

REFERENCE = "it was the best of times it was the worst of times it was"
FIRST = "its the best of times it is the worst of times or it was"
SECOND = "it was the best times it won the test of times it was"


def sample(key: str, reference: str, hypothesis: str) -> Sample:
    return Sample(key=key, speaker="s", reference=reference, hypothesis=hypothesis)


def both(reference: str, first: str, second: str) -> tuple[list[Sample], list[Sample]]:
    return [sample("u", reference, first)], [sample("u", reference, second)]


def cut(reference: str, first: str, second: str, *, buffer: int = 2) -> tuple[tuple[int, int], ...]:
    ones, others = both(reference, first, second)
    return segments(mark(ones[0]).slots, mark(others[0]).slots, buffer=buffer)


def test_the_worked_example_of_the_textbook() -> None:
    """Jurafsky and Martin, "Speech and Language Processing": four regions with Z = 2, -1, -1, 1; W = 1/3 by hand."""
    assert cut(REFERENCE, FIRST, SECOND) == ((2, 0), (0, 1), (1, 2), (1, 0))
    found = mapsswe(*both(REFERENCE, FIRST, SECOND))
    assert (found.num_segments, found.mean) == (4, 0.25)
    assert found.statistic == pytest.approx(1 / 3)
    assert found.p == pytest.approx(0.7389, abs=5e-5)
    assert "only 4 segments" in found.note


def test_the_other_way_round_only_the_sign_changes() -> None:
    there, back = mapsswe(*both(REFERENCE, FIRST, SECOND)), mapsswe(*both(REFERENCE, SECOND, FIRST))
    assert back == dataclasses.replace(there, statistic=-(there.statistic or 0), mean=-there.mean)


@pytest.mark.parametrize(
    ("first", "second", "buffer", "found"),
    [
        ("a b c d e", "a b c d e", 2, ()),
        ("x b c d e", "a b c d x", 2, ((1, 0), (0, 1))),
        ("x b c d e", "a b c d x", 3, ((1, 0), (0, 1))),
        ("x b c d e", "a b c d x", 4, ((1, 1),)),
        ("x b c d e", "a b x d e", 2, ((1, 1),)),
        ("x b c d e", "a b x d e", 1, ((1, 0), (0, 1))),
        ("a b c d e f", "x a b c d e", 2, ((0, 1), (1, 0))),
        ("a x y b c d e", "b c d e", 2, ((2, 1),)),
        ("a x b c d e", "a b x c d e", 2, ((1, 1),)),
        ("", "a b c d e", 2, ((5, 0),)),
    ],
)
def test_segments_end_where_both_are_right(
    first: str, second: str, buffer: int, found: tuple[tuple[int, int], ...]
) -> None:
    assert cut("a b c d e", first, second, buffer=buffer) == found


def test_utterances_are_never_joined() -> None:
    first = [sample("1", "a", "x"), sample("2", "b", "b")]
    second = [sample("2", "b", "y"), sample("1", "a", "a")]
    assert mapsswe(first, second).num_segments == 2


def simulated(count: int, random: np.random.Generator) -> tuple[list[Sample], list[Sample]]:
    """Utterances of eight words; hard ones are hard for both, and the second system is a little better."""
    words = np.array(list("abcdefgh"))
    systems: tuple[list[Sample], list[Sample]] = ([], [])
    for index in range(count):
        hard = random.beta(1, 4)
        for system, rate in zip(systems, (hard, 0.95 * hard), strict=True):
            heard = np.where(random.random(8) < rate, "x", words)
            system.append(sample(str(index), " ".join(words), " ".join(heard)))
    return systems


@pytest.mark.parametrize("seed", range(3))
def test_it_is_a_permutation_test_within_monte_carlo_error(seed: int) -> None:
    """100,000 random signs of the segments' differences: a standard error below .0016, and ties that a normal curve cuts."""
    random = np.random.default_rng(seed)
    first, second = simulated(1500, random)
    found = mapsswe(first, second)
    z = np.array(
        [a - b for one, other in zip(first, second, strict=True)
         for a, b in cut(one.reference, one.hypothesis, other.hypothesis)]
    )  # fmt: skip
    assert len(z) == found.num_segments > 1000
    z = z[z != 0]
    sums = np.concatenate([np.abs(random.choice([-1, 1], (10_000, len(z))) @ z) for _ in range(10)])
    observed = abs(int(z.sum()))
    # Half of the ties, since the normal curve puts half of each step on either side.
    permuted = np.mean(sums > observed) + np.mean(sums == observed) / 2
    assert found.p == pytest.approx(permuted, abs=0.006)
    assert found.note == ""


def test_equal_systems_are_rejected_as_often_as_they_should_be() -> None:
    random = np.random.default_rng(11)
    rejected = 0
    for _ in range(200):
        first, second = simulated(60, random)
        swapped = [pair if random.random() < 0.5 else pair[::-1] for pair in zip(first, second, strict=True)]
        p = mapsswe([one for one, _ in swapped], [other for _, other in swapped]).p
        rejected += p is not None and p < 0.05
    assert 2 <= rejected <= 20


def test_what_has_no_p_value_says_why() -> None:
    same = mapsswe(*both("a b", "a b", "a b"))
    assert (same.p, same.num_segments) == (1.0, 0)
    assert "equally many" in same.note
    assert mapsswe(*both("a b", "a x", "a y")).p == 1.0
    one = mapsswe(*both("a b", "a x", "a b"))
    assert (one.p, one.statistic, one.mean) == (None, None, 1.0)
    assert "do not vary" in one.note


def test_the_note_ends_where_there_are_enough_segments() -> None:
    for count in (MANY_SEGMENTS - 1, MANY_SEGMENTS):
        first = [sample(str(i), "a", "x" if i else "a") for i in range(count)]
        second = [sample(str(i), "a", "a" if i else "x") for i in range(count)]
        assert bool(mapsswe(first, second).note) == (count < MANY_SEGMENTS)


def test_texts_are_normalised_alike() -> None:
    found = mapsswe(*both("It WAS, was", "it was was!", "it was WAS"))
    assert found.num_segments == 0


def test_only_the_same_utterances_are_paired() -> None:
    first, second = both("a b", "a b", "a b")
    with pytest.raises(DataError, match="1 and 2 utterances that are not the same"):
        mapsswe(first, [*second, sample("v", "a", "a")])
    with pytest.raises(DataError, match="2 and 1 utterances"):
        mapsswe(first * 2, second)
    with pytest.raises(DataError, match=r"'u' has the reference 'a b' in one result and 'a c'"):
        mapsswe(first, [sample("u", "a c", "a b")])
    with pytest.raises(ConfigError, match="buffer = 0"):
        mapsswe(first, second, buffer=0)
    with pytest.raises(DataError, match="'u' has 2 reference words in one result and 3 in the other"):
        matched_pairs([mark(first[0])], [mark(sample("u", "a b c", "a b c"))])
