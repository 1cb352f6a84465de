"""The alignment shows exactly the errors that are counted."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sordino.evaluation import Edit, align, word_errors

TEXT = st.lists(st.sampled_from(["one", "two", "three"]), max_size=6).map(" ".join)


@given(reference=TEXT, hypothesis=TEXT)
def test_it_spells_both_texts_and_has_the_counted_errors(reference: str, hypothesis: str) -> None:
    edits = align(reference, hypothesis)
    assert " ".join(edit.reference for edit in edits if edit.reference) == reference
    assert " ".join(edit.hypothesis for edit in edits if edit.hypothesis) == hypothesis
    counts, errors = Counter(edit.kind for edit in edits), word_errors(reference, hypothesis)
    assert counts["substitution"] == errors.substitutions
    assert counts["deletion"] == errors.deletions
    assert counts["insertion"] == errors.insertions
    assert all((edit.kind == "hit") == (edit.reference == edit.hypothesis) for edit in edits)


def test_each_kind() -> None:
    assert align("one two", "too two") == (Edit("substitution", "one", "too"), Edit("hit", "two", "two"))
    assert align("one", "") == (Edit("deletion", "one", ""),)
    assert align("", "one") == (Edit("insertion", "", "one"),)
    assert align("", "") == ()
