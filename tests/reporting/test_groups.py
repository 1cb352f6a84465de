"""Rates of speakers and languages are those of the pooled report; intervals only where something can vary."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from sordino.evaluation import score
from sordino.reporting import read_run
from sordino.reporting.groups import UNKNOWN, by_language, by_speaker
from sordino.seeds import Seeds


def test_rates_are_those_of_the_report(runs: dict[str, Path]) -> None:
    run = read_run(runs["weak"])
    assert run.report_before is not None
    assert run.report_after is not None
    for groups, before, after in (
        (by_speaker(run), run.report_before.by_speaker, run.report_after.by_speaker),
        (by_language(run), run.report_before.by_language, run.report_after.by_language),
    ):
        assert {group.name: group.after for group in groups} == {name: errors.rate for name, errors in after.items()}
        assert {group.name: group.before for group in groups} == {name: errors.rate for name, errors in before.items()}
        assert sum(group.words for group in groups) == run.report_after.words.words
        assert sum(group.clips for group in groups) == len(run.after)
        assert [group.after for group in groups] == sorted(group.after or 0 for group in groups)


def test_a_single_language_has_the_interval_of_all(runs: dict[str, Path]) -> None:
    run = read_run(runs["weak"])
    understood = sorted({sample.speaker for sample in run.after})[::2]
    # Half of the speakers wholly right and half wholly wrong: what the run's noise made of them could be alike by chance.
    after = [
        dataclasses.replace(sample, language="", hypothesis=sample.reference if sample.speaker in understood else "")
        for sample in run.after
    ]
    (language,) = by_language(dataclasses.replace(run, after=after, before=()))
    assert language.name == UNKNOWN
    assert language.before is None
    report = score(after, seeds=Seeds(0))
    assert language.after == report.wer
    assert language.interval == pytest.approx(report.ci95, abs=0.03)


def test_where_nothing_varies_there_is_no_interval(runs: dict[str, Path]) -> None:
    run = read_run(runs["weak"])
    right = dataclasses.replace(
        run, after=[dataclasses.replace(sample, hypothesis=sample.reference) for sample in run.after]
    )
    assert {group.interval for group in by_speaker(right)} == {None}
    single = dataclasses.replace(run, after=run.after[:1], before=())
    assert [group.interval for group in by_speaker(single)] == [None]
