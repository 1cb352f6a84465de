"""Emotions from any subset of the modalities, and what withdrawing one of them did."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sordino.records import RunFolder
from sordino.reporting.formatting import interval, number, percent, points, points_interval
from sordino.reporting.summaries.base import SUMMARIES, Summariser, Summary
from sordino.reporting.tables import Cell, Column, Table

__all__ = ["EmotionSummary"]


@SUMMARIES.register("emotion")
class EmotionSummary(Summariser):
    """Every mask before and after the withdrawal, the attacks, and what the certificate says."""

    @staticmethod
    def read(folder: RunFolder) -> Summary:
        """The summary of a finished run."""
        result = json.loads(folder.result.read_text(encoding="utf-8"))
        tables = [_masks(result), *([_attacks(result)] if result["attacks"] else [])]
        title = f"Emotions, with {result['withdrawn']} withdrawn by {result['certificate']['mode']}"
        return Summary(title=title, sentences=list(_sentences(result)), tables=tables)


def _masks(result: Mapping[str, Any]) -> Table:
    sentiment = "mean_absolute_error" in next(iter(result["masks"].values()))
    return _sentiments(result) if sentiment else _emotions(result)


def _emotions(result: Mapping[str, Any]) -> Table:
    before, reference = result["before"] or {}, result["reference"]
    rows = [
        [
            Cell(name),
            Cell(percent(before[name]["accuracy"] if before else None)),
            Cell(percent(reference[name]["accuracy"])),
            Cell(percent(row["accuracy"]), interval(row["ci95"])),
            Cell(percent(row["unweighted_accuracy"])),
            Cell(percent(row["macro_f1"])),
        ]
        for name, row in result["masks"].items()
    ]
    columns = ("before", "public clips alone", "after", "unweighted", "macro F1")
    return Table(
        name="masks",
        columns=[Column("modalities present", numeric=False), *map(Column, columns)],
        rows=rows,
        note=(
            f"Accuracy on speakers that nothing was trained on; chance is "
            f"{percent(next(iter(result['masks'].values()))['chance'])}. Public clips alone: {result['withdrawn']} learnt "
            "from public clips only. In brackets 95 % over speakers."
        ),
    )


def _sentiments(result: Mapping[str, Any]) -> Table:
    rows = [
        [
            Cell(name),
            Cell(number(row["mean_absolute_error"])),
            Cell(number(row["correlation"])),
            Cell(percent(row["same_sign"])),
        ]
        for name, row in result["masks"].items()
    ]
    columns = ("mean absolute error", "correlation", "same sign")
    return Table(
        name="masks",
        columns=[Column("modalities present", numeric=False), *map(Column, columns)],
        rows=rows,
        note="Sentiment in [-3, 3] of speakers that nothing was trained on, after the withdrawal.",
    )


def _attacks(result: Mapping[str, Any]) -> Table:
    rows = [
        [
            Cell(f"{attack}, {when}"),
            Cell(percent(found["success"]), interval(found["ci95"])),
            Cell(percent(found["chance"])),
            Cell(number(found["tried"])),
        ]
        for attack in ("presence", "membership", "probe")
        for when, found in result["attacks"].get(attack, {}).items()
        if found
    ]
    return Table(
        name="attacks",
        columns=[Column("attack", numeric=False), Column("success"), Column("chance"), Column("answers")],
        rows=rows,
        note=(
            "Presence: was the modality ever collected? Membership: was this recording in? Probe: the emotion, read off the "
            "branch's hidden layer. In brackets exact 95 % intervals."
        ),
    )


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    certificate = result["certificate"]
    if not certificate["guarantee"]:
        yield "The certificate is not a guarantee: the sensitivity was observed, not enforced."
    if result.get("fluctuation") is not None:
        yield f"When one modality goes missing, accuracy falls by at most {percent(result['fluctuation'])} of what it was."
    whole = next(iter(result["masks"]))
    if result["against_before"]:
        change, bounds = (result["against_before"][whole][key] for key in ("accuracy", "ci95"))
        over = f" (95 % over speakers: {points_interval(bounds)})" if bounds else ""
        yield f"The withdrawal changed the accuracy with all modalities by {points(change)} points{over}."
    relearning = (result["attacks"] or {}).get("relearning")
    if relearning and relearning["ratio"] is not None:
        yield f"Relearning took {number(relearning['ratio'])} times as long as learning from public clips on."
