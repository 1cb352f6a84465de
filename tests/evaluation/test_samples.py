"""Marks: an utterance's errors without its words, from which every figure is the same as from the texts."""

from __future__ import annotations

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.evaluation import Errors, Sample, character_errors, mark, normalise, word_errors

TEXT = st.lists(st.sampled_from(["One", "two,", "three!", "on-off"]), max_size=6).map(" ".join)


@settings(max_examples=100)
@given(said=TEXT, written=TEXT)
def test_counts_are_those_of_the_normalised_texts(said: str, written: str) -> None:
    marked = mark(Sample(key="k", speaker="s", reference=said, hypothesis=written))
    assert marked.words == word_errors(normalise(said), normalise(written))
    assert marked.characters == character_errors(normalise(said), normalise(written))
    assert sum(marked.slots) == marked.words.total
    assert sum(marked.slots[::2]) == marked.words.insertions
    assert len(marked.slots) == 2 * marked.words.words + 1


def test_where_the_errors_are() -> None:
    marked = mark(Sample(key="k", speaker="s", reference="a b c", hypothesis="x a y y b d", client="c", truncated=True))
    assert marked.slots == (1, 0, 2, 0, 0, 1, 0)
    assert marked.words == Errors(substitutions=1, insertions=3, words=3)
    assert (marked.client, marked.truncated) == ("c", True)


def test_nothing_of_a_text_is_in_a_mark() -> None:
    marked = mark(Sample(key="k", speaker="s", reference="secret words", hypothesis="secret worlds", language="en"))
    assert "secret" not in str(dataclasses.asdict(marked))
    assert "wor" not in str(dataclasses.asdict(marked)).replace("words", "")
