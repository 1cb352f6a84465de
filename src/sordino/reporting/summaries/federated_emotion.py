"""An emotion network trained by federated rounds: every mask before and after."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sordino.records import RunFolder
from sordino.reporting.formatting import interval, number, percent, points, points_interval
from sordino.reporting.summaries.base import SUMMARIES, Summariser, Summary
from sordino.reporting.tables import Cell, Column, Table

__all__ = ["FederatedEmotionSummary"]


@SUMMARIES.register("federated-emotion")
class FederatedEmotionSummary(Summariser):
    """Accuracy of each set of modalities, before the federation and after it."""

    @staticmethod
    def read(folder: RunFolder) -> Summary:
        """The summary of a finished run."""
        result = json.loads(folder.result.read_text(encoding="utf-8"))
        first = next(iter(result["masks"].values()))
        measure, show = ("accuracy", percent) if "accuracy" in first else ("mean_absolute_error", number)
        change = result["against_before"] or {}
        columns = ["public speakers alone", "after", *(["points gained"] if change else [])]
        rows = [
            [
                Cell(name),
                Cell(show(result["before"][name][measure])),
                Cell(show(row[measure]), interval(row["ci95"]) if row.get("ci95") else ""),
                *([Cell(points(change[name]["accuracy"]), points_interval(change[name]["ci95"]))] if change else []),
            ]
            for name, row in result["masks"].items()
        ]
        table = Table(
            name="masks",
            columns=[Column("modalities present", numeric=False), *map(Column, columns)],
            rows=rows,
            note=(
                f"{measure.replace('_', ' ').capitalize()} on speakers that nothing was trained on; in brackets 95 % over "
                "these speakers."
            ),
        )
        return Summary(title="Emotions, learnt in a federation", sentences=list(_sentences(result)), tables=[table])


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{result['rounds']} rounds were done."
    if result["personal"]:
        mean = sum(result["personal"].values()) / len(result["personal"])
        yield f"Clients are served by their own models with an accuracy of {percent(mean)} on average."
