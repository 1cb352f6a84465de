"""A line of progress says when its error rate was measured."""

from __future__ import annotations

from sordino.experiments import Progress


def test_an_old_error_rate_does_not_pass_for_a_new_one() -> None:
    new = Progress(round=4, rounds=9, wer=0.25, measured=4, epsilon=2.0)
    assert new.words == "WER 25.0 %  epsilon 2.00"
    assert Progress(round=5, rounds=9, wer=0.25, measured=4).words == "WER 25.0 % at round 4  no guarantee"
    assert Progress(round=5, rounds=9).words == "WER -  no guarantee"
