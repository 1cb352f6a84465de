"""Counts against jiwer, and that adding up is the same as pooling."""

from __future__ import annotations

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import DataError
from sordino.evaluation import Errors, character_errors, pooled, word_errors

TEXT = st.lists(st.sampled_from(["one", "two", "three", "on"]), max_size=6).map(" ".join)
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8)


def test_a_worked_example() -> None:
    errors = word_errors("the cat sat on the mat", "the bat sat the mat now")
    assert errors == Errors(substitutions=1, deletions=1, insertions=1, words=6)
    assert errors.total == 3
    assert errors.rate == 0.5


def test_characters_include_the_spaces_between_words() -> None:
    assert character_errors("a b", "ab") == Errors(deletions=1, words=3)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("", "", Errors()),
        ("", "hello there", Errors(insertions=2)),
        ("hello there", "", Errors(deletions=2, words=2)),
    ],
)
def test_empty_texts(reference: str, hypothesis: str, expected: Errors) -> None:
    assert word_errors(reference, hypothesis) == expected


def test_an_insertion_into_silence_counts_in_the_pooled_rate() -> None:
    """CASES 17."""
    errors = pooled([word_errors("", "hello there"), word_errors("one two three four", "one two three four")])
    assert errors.rate == 0.5


@given(pairs=PAIRS)
def test_adding_up_equals_jiwer_on_the_whole_set(pairs: list[tuple[str, str]]) -> None:
    references, hypotheses = [list(texts) for texts in zip(*pairs, strict=True)]
    words = pooled(map(word_errors, references, hypotheses))
    characters = pooled(map(character_errors, references, hypotheses))
    output = jiwer.process_words(references, hypotheses)
    assert words.substitutions == output.substitutions
    assert words.deletions == output.deletions
    assert words.insertions == output.insertions
    assert words.words == sum(len(reference.split()) for reference in references)
    if words.words:
        assert words.rate == jiwer.wer(references, hypotheses)
        assert characters.rate == jiwer.cer(references, hypotheses)


@given(pairs=PAIRS, cut=st.integers(0, 8))
def test_parts_add_up_to_the_whole(pairs: list[tuple[str, str]], cut: int) -> None:
    errors = [word_errors(*pair) for pair in pairs]
    assert pooled(errors[:cut]) + pooled(errors[cut:]) == pooled(errors)


def test_a_rate_without_words_is_refused() -> None:
    with pytest.raises(DataError, match=r"0 words \(and the hypotheses 2\).*give references with text"):
        _ = word_errors("", "hello there").rate
