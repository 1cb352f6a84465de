"""Differences between runs are paired by speaker, and given only on the same clips."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from sordino.evaluation import difference_interval
from sordino.reporting import read_run
from sordino.reporting.differences import difference


def test_it_is_the_paired_bootstrap_of_the_transcripts(runs: dict[str, Path]) -> None:
    run, first = read_run(runs["weak"]), read_run(runs["sound"])
    assert run.report_after is not None
    assert first.report_after is not None
    found = difference(run, first)
    assert found.points == pytest.approx(run.report_after.wer - first.report_after.wer)
    assert found.interval == difference_interval(
        run.report_after.by_speaker, first.report_after.by_speaker, seeds=first.bootstrap
    )
    assert found.interval.bounds is not None
    assert found.interval.bounds[0] <= (found.points or 0) <= found.interval.bounds[1]


def test_a_run_does_not_differ_from_itself(runs: dict[str, Path]) -> None:
    run = read_run(runs["sound"])
    found = difference(run, run)
    assert (found.points, found.interval.bounds, found.clear) == (0.0, (0.0, 0.0), False)


def test_a_clear_difference_is_called_clear(runs: dict[str, Path]) -> None:
    run = read_run(runs["sound"])
    perfect = dataclasses.replace(
        run, after=[dataclasses.replace(sample, hypothesis=sample.reference) for sample in run.after]
    )
    silent = dataclasses.replace(run, after=[dataclasses.replace(sample, hypothesis="") for sample in run.after])
    assert difference(silent, perfect).points == 1.0
    assert difference(silent, perfect).clear
    assert difference(perfect, silent).clear


def test_other_clips_are_no_basis(runs: dict[str, Path]) -> None:
    run = read_run(runs["sound"])
    fewer = dataclasses.replace(run, after=run.after[1:])
    assert difference(fewer, run).points is None
    assert "different clips" in difference(fewer, run).why_not
    assert "kept no transcripts" in difference(dataclasses.replace(run, after=()), run).why_not
