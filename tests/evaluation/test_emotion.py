"""Scores of emotions and sentiment, worked by hand and against degenerate answers."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import DataError
from sordino.evaluation import accuracy_change, emotion_report, sentiment_report
from sordino.seeds import Seeds

SEEDS = Seeds(0)
TRUTH = ["joy", "joy", "joy", "joy", "fear", "fear"]
SPEAKERS = ["a", "a", "b", "b", "a", "b"]


def test_scores_worked_by_hand() -> None:
    report = emotion_report(TRUTH, ["joy", "joy", "joy", "fear", "fear", "rage"], speakers=SPEAKERS, seeds=SEEDS)
    assert report.accuracy == pytest.approx(4 / 6)
    assert report.unweighted_accuracy == pytest.approx((3 / 4 + 1 / 2) / 2)
    joy, fear = 2 * 1 * (3 / 4) / (1 + 3 / 4), 2 * (1 / 2) * (1 / 2) / (1 / 2 + 1 / 2)
    assert report.macro_f1 == pytest.approx((joy + fear) / 2)
    assert report.chance == pytest.approx(4 / 6)
    assert report.interval.bounds is not None
    low, high = report.interval.bounds
    assert (low, high) == pytest.approx((1 / 3, 1)), "speaker b alone and speaker a alone"
    assert report.to_json()["ci95"] == [low, high]


def test_one_answer_for_all_is_chance() -> None:
    report = emotion_report(TRUTH, ["joy"] * 6, speakers=SPEAKERS, seeds=SEEDS)
    assert report.accuracy == pytest.approx(report.chance)
    assert report.unweighted_accuracy == 0.5


def test_one_speaker_has_no_interval() -> None:
    report = emotion_report(["joy"], ["joy"], speakers=["a"], seeds=SEEDS)
    assert report.interval.bounds is None
    assert report.to_json()["ci95"] is None
    assert "single speaker" in report.interval.note


def test_a_change_is_paired_by_speaker() -> None:
    rng = np.random.default_rng(0)
    speakers = [f"s{number}" for number in range(40) for _ in range(20)]
    truth = ["joy"] * len(speakers)
    hard = np.repeat(rng.uniform(0.1, 0.9, 40), 20)  # speakers differ a lot, so unpaired intervals would be wide
    wrong = rng.random(len(speakers)) < hard
    worse = wrong | (rng.random(len(speakers)) < 0.1)
    before, after = (["fear" if bad else "joy" for bad in side] for side in (wrong, worse))
    change, interval = accuracy_change(truth, before, after, speakers=speakers, seeds=SEEDS)
    assert change == pytest.approx(wrong.mean() - worse.mean())
    assert interval.bounds is not None
    assert interval.bounds[0] < change < interval.bounds[1] < 0
    assert accuracy_change(truth, before, before, speakers=speakers, seeds=SEEDS) == (0, type(interval)((0.0, 0.0)))


def test_sentiment() -> None:
    report = sentiment_report(np.array([-3.0, 0.0, 1.0, 2.0]), np.array([-1.0, 2.0, -1.0, 4.0]))
    assert report.mean_absolute_error == 2
    assert report.correlation == pytest.approx(np.corrcoef([-3, 0, 1, 2], [-1, 2, -1, 4])[0, 1])
    assert report.same_sign == pytest.approx(2 / 3)
    assert sentiment_report(np.array([0.0, 0.0]), np.array([1.0, 2.0])).to_json() == {
        "mean_absolute_error": 1.5, "correlation": None, "same_sign": None, "utterances": 2
    }  # fmt: skip


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(DataError, match="number 2, 1, 2: expected equally many"):
        emotion_report(["a", "b"], ["a"], speakers=["s", "s"], seeds=SEEDS)
    with pytest.raises(DataError, match="at least 1"):
        emotion_report([], [], speakers=[], seeds=SEEDS)
    with pytest.raises(DataError, match="not a finite number"):
        sentiment_report(np.array([np.nan]), np.array([0.0]))
